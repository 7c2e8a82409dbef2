// A certificate that nobody has signed: the other side knows its fingerprint from the SDP.
#include "Libraries.h"

#include <stdlib.h>
#include <string.h>

struct glp_identity {
  SSL_CTX *context;
  uint8_t fingerprint[GLP_FINGERPRINT_BYTES];
};

static bool is_fingerprint(const X509 *certificate, uint8_t *fingerprint) {
  unsigned count = 0;
  uint8_t digest[64];
  if (!glp_rtc.X509_digest(certificate, glp_rtc.EVP_sha256(), digest, &count)) return false;
  if (count != GLP_FINGERPRINT_BYTES) return false;
  memcpy(fingerprint, digest, count);
  return true;
}

/// Whether the peer's certificate is the one of its SDP; nothing else of it matters.
static int verify(X509_STORE_CTX *store, void *unused) {
  (void)unused;
  const SSL *ssl = glp_rtc.X509_STORE_CTX_get_ex_data(store, glp_rtc.SSL_get_ex_data_X509_STORE_CTX_idx());
  const X509 *certificate = glp_rtc.X509_STORE_CTX_get0_cert(store);
  const uint8_t *expected = ssl ? glp_rtc.SSL_get_ex_data(ssl, 0) : NULL;
  uint8_t fingerprint[GLP_FINGERPRINT_BYTES];
  if (!expected || !certificate || !is_fingerprint(certificate, fingerprint)) return 0;
  return memcmp(fingerprint, expected, sizeof fingerprint) == 0;
}

static bool sign(X509 *certificate, EVP_PKEY *key) {
  uint64_t serial = 0;
  if (glp_rtc.RAND_bytes((unsigned char *)&serial, sizeof serial) != 1) return false;
  X509_NAME *name = glp_rtc.X509_get_subject_name(certificate);
  return glp_rtc.X509_set_version(certificate, X509_VERSION_3)
      && glp_rtc.ASN1_INTEGER_set_uint64(glp_rtc.X509_get_serialNumber(certificate), serial >> 1)
      && glp_rtc.X509_gmtime_adj(glp_rtc.X509_getm_notBefore(certificate), -86400)
      && glp_rtc.X509_gmtime_adj(glp_rtc.X509_getm_notAfter(certificate), 10 * 365 * 86400L)
      && glp_rtc.X509_set_pubkey(certificate, key)
      && glp_rtc.X509_NAME_add_entry_by_txt(
          name, "CN", MBSTRING_ASC, (const unsigned char *)"glpreview", -1, -1, 0)
      && glp_rtc.X509_set_issuer_name(certificate, name)
      && glp_rtc.X509_sign(certificate, key, glp_rtc.EVP_sha256());
}

static bool prepare(glp_identity *identity, X509 *certificate, EVP_PKEY *key) {
  SSL_CTX *context = identity->context = glp_rtc.SSL_CTX_new(glp_rtc.DTLS_method());
  if (!context) return false;
  glp_rtc.SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  glp_rtc.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  glp_rtc.SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  glp_rtc.SSL_CTX_set_cert_verify_callback(context, verify, NULL);
  return glp_rtc.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, DTLS1_2_VERSION, NULL)
      && glp_rtc.SSL_CTX_set_cipher_list(
          context, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384")
      && glp_rtc.SSL_CTX_use_certificate(context, certificate) && glp_rtc.SSL_CTX_use_PrivateKey(context, key)
      // This one returns 0 where all is well.
      && !glp_rtc.SSL_CTX_set_tlsext_use_srtp(context, "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80");
}

glp_identity *glp_identity_new(glp_rtc_error *error) {
  if (!glp_rtc_load(error)) return NULL;
  glp_identity *identity = calloc(1, sizeof *identity);
  EVP_PKEY *key = glp_rtc.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  X509 *certificate = glp_rtc.X509_new();
  bool is_made = identity && key && certificate && sign(certificate, key)
      && is_fingerprint(certificate, identity->fingerprint) && prepare(identity, certificate, key);
  glp_rtc.X509_free(certificate);
  glp_rtc.EVP_PKEY_free(key);
  if (is_made) return identity;
  glp_rtc_fail(error, "a certificate can't be made");
  glp_identity_free(identity);
  return NULL;
}

void glp_identity_free(glp_identity *identity) {
  if (!identity) return;
  glp_rtc.SSL_CTX_free(identity->context);
  free(identity);
}

const uint8_t *glp_identity_fingerprint(const glp_identity *identity) { return identity->fingerprint; }
SSL_CTX *glp_identity_context(const glp_identity *identity) { return identity->context; }
