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

/// The most bytes of a header of RTP: 12, and an extension of 8.
enum { GLP_RTP_HEADER_BYTES = 20 };

/// What the packets of a run have before their payloads. The sequence numbers go up, and the last one may have the marker.
typedef struct {
  uint8_t bytes[GLP_RTP_HEADER_BYTES];
  uint8_t count;
  bool has_marker;
  uint16_t sequence_number;
} glp_rtp_header;

/// Writes the packets of a run one after another, protected: `count` bytes of payloads, `payload` in each packet, and what is
/// left in the last. A packet may be written again as it was. Returns the bytes that were written; 0 if one is refused.
/// `capacity` is at least `count` and, for each packet, the header's bytes, and GLP_SRTP_TRAILER_BYTES once.
size_t glp_srtp_write_run(
    glp_srtp *srtp, const glp_rtp_header *header, const uint8_t *payloads, size_t count, size_t payload, uint8_t *bytes,
    size_t capacity);

/// The most bytes of an address, which is a sockaddr.
enum { GLP_ADDRESS_BYTES = 28 };

/// Datagrams to one address that lie one after another in memory: all have `segment` bytes, but the last may be shorter.
typedef struct {
  uint8_t address[GLP_ADDRESS_BYTES];
  uint32_t address_bytes;
  uint32_t offset, count, segment;
  /// How many of the bytes were sent, or refused.
  uint32_t sent;
  /// Whether they may go as one message, which the kernel cuts: at most 64 of them, and less than 64 KB. False once the
  /// kernel has refused that.
  bool takes_segments;
} glp_datagrams;

typedef struct {
  /// The batches that are done.
  size_t batches;
  /// The messages that the kernel refused, and the last reason.
  size_t refused;
  int error;
  /// Whether the socket takes no more now.
  bool is_blocked;
} glp_sent;

/// Sends batches in their order until all are done or the socket is full. Offsets are those in `bytes`.
glp_sent glp_datagrams_send(int socket, const uint8_t *bytes, glp_datagrams *batches, size_t count);

#endif
