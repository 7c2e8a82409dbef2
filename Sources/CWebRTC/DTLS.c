// One end of a DTLS association on memory: datagrams come from the caller, and go to it.
#include "Libraries.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/// Below what paths carry, with an IPv6 header and tunnels.
enum { LINK_BYTES = 1200, RECORD_HEADER_BYTES = 13, MOST_RECORD_BYTES = 1 << 14 };

struct glp_dtls {
  SSL *ssl;
  /// The ends that OpenSSL reads from and writes to; they belong to it.
  BIO *in, *out;
  glp_dtls_state state;
  bool is_server;
  uint8_t expected[GLP_FINGERPRINT_BYTES];
};

static glp_dtls_state failed(glp_dtls *dtls, glp_rtc_error *error, const char *what) {
  glp_rtc_fail(error, what);
  return dtls->state = GLP_DTLS_FAILED;
}

/// What comes of a call that returned `result`.
static glp_dtls_state after(glp_dtls *dtls, int result, glp_rtc_error *error) {
  int code = glp_rtc.SSL_get_error(dtls->ssl, result);
  if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) return dtls->state;
  if (code == SSL_ERROR_ZERO_RETURN) return dtls->state = GLP_DTLS_CLOSED;
  return failed(dtls, error, dtls->state == GLP_DTLS_CONNECTED ? "DTLS failed" : "the DTLS handshake failed");
}

static glp_dtls_state proceed(glp_dtls *dtls, glp_rtc_error *error) {
  glp_rtc.ERR_clear_error();
  if (dtls->state == GLP_DTLS_HANDSHAKING) {
    int result = glp_rtc.SSL_do_handshake(dtls->ssl);
    if (result != 1) return after(dtls, result, error);
    if (!glp_rtc.SSL_get_selected_srtp_profile(dtls->ssl)) {
      return failed(dtls, error, "the peer offers no SRTP profile that is known");
    }
    dtls->state = GLP_DTLS_CONNECTED;
  }
  // Nobody wants what comes over the association itself; alerts and repeated flights are dealt with by reading.
  for (;;) {
    uint8_t unused[2048];
    int result = glp_rtc.SSL_read(dtls->ssl, unused, sizeof unused);
    if (result <= 0) return after(dtls, result, error);
  }
}

glp_dtls *glp_dtls_new(
    const glp_identity *identity, bool is_server, const uint8_t peer_fingerprint[GLP_FINGERPRINT_BYTES],
    glp_rtc_error *error) {
  glp_dtls *dtls = calloc(1, sizeof *dtls);
  if (!dtls) {
    glp_rtc_fail(error, "not enough memory");
    return NULL;
  }
  dtls->is_server = is_server;
  memcpy(dtls->expected, peer_fingerprint, sizeof dtls->expected);
  dtls->ssl = glp_rtc.SSL_new(glp_identity_context(identity));
  dtls->in = glp_rtc.BIO_new(glp_rtc.BIO_s_mem());
  dtls->out = glp_rtc.BIO_new(glp_rtc.BIO_s_mem());
  if (!dtls->ssl || !dtls->in || !dtls->out || !glp_rtc.SSL_set_ex_data(dtls->ssl, 0, dtls->expected)) {
    if (dtls->in) glp_rtc.BIO_free(dtls->in);
    if (dtls->out) glp_rtc.BIO_free(dtls->out);
    if (dtls->ssl) glp_rtc.SSL_free(dtls->ssl);
    free(dtls);
    glp_rtc_fail(error, "no DTLS endpoint");
    return NULL;
  }
  // An empty end is not the end.
  glp_rtc.BIO_ctrl(dtls->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
  glp_rtc.BIO_ctrl(dtls->out, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
  glp_rtc.SSL_set_bio(dtls->ssl, dtls->in, dtls->out);
  glp_rtc.SSL_ctrl(dtls->ssl, SSL_CTRL_SET_MTU, LINK_BYTES, NULL);
  if (is_server) {
    glp_rtc.SSL_set_accept_state(dtls->ssl);
  } else {
    glp_rtc.SSL_set_connect_state(dtls->ssl);
    proceed(dtls, error);
  }
  return dtls;
}

void glp_dtls_free(glp_dtls *dtls) {
  if (!dtls) return;
  glp_rtc.SSL_free(dtls->ssl);
  free(dtls);
}

glp_dtls_state glp_dtls_receive(glp_dtls *dtls, const uint8_t *bytes, size_t count, glp_rtc_error *error) {
  if (dtls->state == GLP_DTLS_CLOSED || dtls->state == GLP_DTLS_FAILED) return dtls->state;
  if (count < RECORD_HEADER_BYTES || count > MOST_RECORD_BYTES) return dtls->state;
  // The rest of a datagram that was not understood must not be taken for the start of the next.
  glp_rtc.BIO_ctrl(dtls->in, BIO_CTRL_RESET, 0, NULL);
  if (glp_rtc.BIO_write(dtls->in, bytes, (int)count) != (int)count) {
    return failed(dtls, error, "not enough memory");
  }
  return proceed(dtls, error);
}

glp_dtls_state glp_dtls_tick(glp_dtls *dtls, glp_rtc_error *error) {
  if (dtls->state != GLP_DTLS_HANDSHAKING) return dtls->state;
  glp_rtc.ERR_clear_error();
  if (glp_rtc.SSL_ctrl(dtls->ssl, DTLS_CTRL_HANDLE_TIMEOUT, 0, NULL) < 0) {
    return failed(dtls, error, "the peer does not answer the DTLS handshake");
  }
  return dtls->state;
}

void glp_dtls_close(glp_dtls *dtls) {
  if (dtls->state != GLP_DTLS_CONNECTED) return;
  glp_rtc.ERR_clear_error();
  glp_rtc.SSL_shutdown(dtls->ssl);
  glp_rtc.ERR_clear_error();
  dtls->state = GLP_DTLS_CLOSED;
}

/// Records are told apart by their headers (RFC 6347, 4.1): each is a datagram, as OpenSSL cuts them to its MTU.
size_t glp_dtls_take(glp_dtls *dtls, uint8_t *bytes, size_t capacity) {
  if (capacity < GLP_DTLS_DATAGRAM_BYTES) return 0;
  if (glp_rtc.BIO_read(dtls->out, bytes, RECORD_HEADER_BYTES) != RECORD_HEADER_BYTES) return 0;
  size_t rest = (size_t)bytes[11] << 8 | bytes[12];
  if (rest == 0) return RECORD_HEADER_BYTES;
  if (rest > capacity - RECORD_HEADER_BYTES
      || glp_rtc.BIO_read(dtls->out, bytes + RECORD_HEADER_BYTES, (int)rest) != (int)rest) {
    glp_rtc.BIO_ctrl(dtls->out, BIO_CTRL_RESET, 0, NULL);
    return 0;
  }
  return RECORD_HEADER_BYTES + rest;
}

bool glp_dtls_keys(glp_dtls *dtls, glp_srtp_profile *profile, uint8_t *outbound, uint8_t *inbound) {
  if (dtls->state != GLP_DTLS_CONNECTED) return false;
  const SRTP_PROTECTION_PROFILE *selected = glp_rtc.SSL_get_selected_srtp_profile(dtls->ssl);
  if (!selected) return false;
  *profile = (glp_srtp_profile)selected->id;
  size_t both = glp_srtp_key_bytes(*profile);
  enum { KEY = 16 };
  if (both == 0) return false;
  size_t salt = both - KEY;
  static const char label[] = "EXTRACTOR-dtls_srtp";
  uint8_t material[2 * 30];
  if (glp_rtc.SSL_export_keying_material(
          dtls->ssl, material, 2 * both, label, sizeof label - 1, NULL, 0, 0) != 1) {
    return false;
  }
  uint8_t *client = dtls->is_server ? inbound : outbound, *server = dtls->is_server ? outbound : inbound;
  memcpy(client, material, KEY);
  memcpy(server, material + KEY, KEY);
  memcpy(client + KEY, material + 2 * KEY, salt);
  memcpy(server + KEY, material + 2 * KEY + salt, salt);
  glp_rtc.OPENSSL_cleanse(material, sizeof material);
  return true;
}
