// DTLS by OpenSSL and SRTP by libsrtp, as WebRTC uses them (RFC 5763, 5764): certificates, handshakes over datagrams that
// the caller sends and receives, and protected packets. Nothing of the libraries' headers is needed, and they are loaded
// when the first of these functions wants them (Libraries.c). Nothing here blocks.
#ifndef GLP_CWEBRTC_H
#define GLP_CWEBRTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What went wrong.
typedef enum {
  GLP_RTC_OK,
  /// Libraries are not installed; the text says how to get them.
  GLP_RTC_NO_LIBRARIES,
  GLP_RTC_FAILED,
} glp_rtc_status;

/// Why, in one line.
typedef struct {
  glp_rtc_status status;
  char text[200];
} glp_rtc_error;

/// Loads the libraries unless they are loaded. Any thread may.
bool glp_rtc_load(glp_rtc_error *error);

/// The bytes of a SHA-256 fingerprint.
enum { GLP_FINGERPRINT_BYTES = 32 };

/// A P-256 key and its self-signed certificate. It may be used by any number of endpoints, whose threads need not agree.
typedef struct glp_identity glp_identity;

glp_identity *glp_identity_new(glp_rtc_error *error);
/// Endpoints keep what they need of it.
void glp_identity_free(glp_identity *identity);
/// The SHA-256 of the certificate.
const uint8_t *glp_identity_fingerprint(const glp_identity *identity);

/// One end of a DTLS 1.2 association; used by one thread at a time.
typedef struct glp_dtls glp_dtls;

typedef enum {
  GLP_DTLS_HANDSHAKING,
  GLP_DTLS_CONNECTED,
  /// The other side has closed it.
  GLP_DTLS_CLOSED,
  /// For good; alerts may still be there to be sent.
  GLP_DTLS_FAILED,
} glp_dtls_state;

/// The peer's certificate must have this fingerprint. A client begins the handshake at once.
glp_dtls *glp_dtls_new(
    const glp_identity *identity, bool is_server, const uint8_t peer_fingerprint[GLP_FINGERPRINT_BYTES],
    glp_rtc_error *error);
void glp_dtls_free(glp_dtls *dtls);

/// Takes a datagram in. The reason of a failure is in `error`.
glp_dtls_state glp_dtls_receive(glp_dtls *dtls, const uint8_t *bytes, size_t count, glp_rtc_error *error);
/// Sends again what was lost, if it is time.
glp_dtls_state glp_dtls_tick(glp_dtls *dtls, glp_rtc_error *error);
/// Tells the other side the end.
void glp_dtls_close(glp_dtls *dtls);
/// The next datagram to send; 0 if there is none. `capacity` is at least GLP_DTLS_DATAGRAM_BYTES.
size_t glp_dtls_take(glp_dtls *dtls, uint8_t *bytes, size_t capacity);
enum { GLP_DTLS_DATAGRAM_BYTES = 2048 };

/// How packets are protected (RFC 5764, 7714), in the order in which they are offered.
typedef enum {
  GLP_SRTP_AES_128_GCM = 7,
  GLP_SRTP_AES_128_CM_SHA1_80 = 1,
} glp_srtp_profile;

/// Protects packets in one direction, and opens those of the other; used by one thread at a time.
typedef struct glp_srtp glp_srtp;

/// The key and salt of a profile.
size_t glp_srtp_key_bytes(glp_srtp_profile profile);
/// Keys are followed by their salts.
glp_srtp *glp_srtp_new(
    glp_srtp_profile profile, const uint8_t *outbound, const uint8_t *inbound, glp_rtc_error *error);
/// With the keys of a connected association.
glp_srtp *glp_srtp_of_dtls(glp_dtls *dtls, glp_rtc_error *error);
glp_srtp_profile glp_srtp_profile_of(const glp_srtp *srtp);
void glp_srtp_free(glp_srtp *srtp);

typedef enum {
  GLP_PROTECT_RTP,
  GLP_PROTECT_RTCP,
  GLP_UNPROTECT_RTP,
  GLP_UNPROTECT_RTCP,
} glp_srtp_work;

/// What a protected packet may have more.
enum { GLP_SRTP_TRAILER_BYTES = 144 };

/// Works on a packet in its place: the number of its bytes afterwards; 0 if it is refused. To protect one, `capacity`
/// is at least `count` + GLP_SRTP_TRAILER_BYTES.
size_t glp_srtp_apply(glp_srtp *srtp, glp_srtp_work work, uint8_t *bytes, size_t count, size_t capacity);

#endif
