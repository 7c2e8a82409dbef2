// OpenSSL's and libsrtp's functions as far as they are used, each behind a pointer. Their headers are not asked for: these
// are the declarations of OpenSSL 3.0 (2021) and libsrtp 2.2 (2018), which libssl.so.3 and libsrtp2.so.1 keep.
#ifndef GLP_WEBRTC_LIBRARIES_H
#define GLP_WEBRTC_LIBRARIES_H

#include "CWebRTC.h"

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_md_st EVP_MD;
typedef struct x509_st X509;
typedef struct X509_name_st X509_NAME;
typedef struct x509_store_ctx_st X509_STORE_CTX;
typedef struct asn1_string_st ASN1_INTEGER;
typedef struct asn1_time_st ASN1_TIME;
typedef struct ossl_lib_ctx_st OSSL_LIB_CTX;

typedef struct {
  const char *name;
  unsigned long id;
} SRTP_PROTECTION_PROFILE;

enum {
  DTLS1_2_VERSION = 0xFEFD,
  MBSTRING_ASC = 0x1001,
  X509_VERSION_3 = 2,
  BIO_CTRL_RESET = 1,
  BIO_C_SET_BUF_MEM_EOF_RETURN = 130,
  SSL_ERROR_WANT_READ = 2,
  SSL_ERROR_WANT_WRITE = 3,
  SSL_ERROR_ZERO_RETURN = 6,
  SSL_VERIFY_PEER = 1,
  SSL_VERIFY_FAIL_IF_NO_PEER_CERT = 2,
  SSL_CTRL_SET_MTU = 17,
  SSL_CTRL_SET_SESS_CACHE_MODE = 44,
  SSL_CTRL_SET_MIN_PROTO_VERSION = 123,
  DTLS_CTRL_HANDLE_TIMEOUT = 74,
  SSL_SESS_CACHE_OFF = 0,
};
#define SSL_OP_NO_QUERY_MTU (1ull << 12)
#define SSL_OP_NO_TICKET (1ull << 14)
#define SSL_OP_NO_RENEGOTIATION (1ull << 30)

typedef struct srtp_ctx_t_ *srtp_t;

/// What libsrtp fills in by the name of a profile.
typedef struct {
  int cipher_type, cipher_key_len, auth_type, auth_key_len, auth_tag_len, sec_serv;
} srtp_crypto_policy_t;

enum { ssrc_any_inbound = 2, ssrc_any_outbound = 3 };

typedef struct {
  struct {
    int type;
    unsigned value;
  } ssrc;
  srtp_crypto_policy_t rtp, rtcp;
  unsigned char *key;
  void *keys;
  unsigned long num_master_keys;
  void *deprecated_ekt;
  unsigned long window_size;
  int allow_repeat_tx;
  int *enc_xtn_hdr;
  int enc_xtn_hdr_count;
  void *next;
} srtp_policy_t;

/// Library, what it gives, name, what it takes.
#define GLP_WEBRTC_FUNCTIONS(F) \
  F(CRYPTO, void, OPENSSL_cleanse, (void *, size_t)) \
  F(CRYPTO, unsigned long, ERR_get_error, (void)) \
  F(CRYPTO, void, ERR_clear_error, (void)) \
  F(CRYPTO, const char *, ERR_reason_error_string, (unsigned long)) \
  F(CRYPTO, int, RAND_bytes, (unsigned char *, int)) \
  F(CRYPTO, EVP_PKEY *, EVP_PKEY_Q_keygen, (OSSL_LIB_CTX *, const char *, const char *, ...)) \
  F(CRYPTO, void, EVP_PKEY_free, (EVP_PKEY *)) \
  F(CRYPTO, const EVP_MD *, EVP_sha256, (void)) \
  F(CRYPTO, X509 *, X509_new, (void)) \
  F(CRYPTO, void, X509_free, (X509 *)) \
  F(CRYPTO, int, X509_set_version, (X509 *, long)) \
  F(CRYPTO, ASN1_INTEGER *, X509_get_serialNumber, (X509 *)) \
  F(CRYPTO, int, ASN1_INTEGER_set_uint64, (ASN1_INTEGER *, uint64_t)) \
  F(CRYPTO, ASN1_TIME *, X509_getm_notBefore, (const X509 *)) \
  F(CRYPTO, ASN1_TIME *, X509_getm_notAfter, (const X509 *)) \
  F(CRYPTO, ASN1_TIME *, X509_gmtime_adj, (ASN1_TIME *, long)) \
  F(CRYPTO, int, X509_set_pubkey, (X509 *, EVP_PKEY *)) \
  F(CRYPTO, X509_NAME *, X509_get_subject_name, (const X509 *)) \
  F(CRYPTO, int, X509_NAME_add_entry_by_txt, \
    (X509_NAME *, const char *, int, const unsigned char *, int, int, int)) \
  F(CRYPTO, int, X509_set_issuer_name, (X509 *, const X509_NAME *)) \
  F(CRYPTO, int, X509_sign, (X509 *, EVP_PKEY *, const EVP_MD *)) \
  F(CRYPTO, int, X509_digest, (const X509 *, const EVP_MD *, unsigned char *, unsigned *)) \
  F(CRYPTO, X509 *, X509_STORE_CTX_get0_cert, (const X509_STORE_CTX *)) \
  F(CRYPTO, void *, X509_STORE_CTX_get_ex_data, (const X509_STORE_CTX *, int)) \
  F(CRYPTO, const BIO_METHOD *, BIO_s_mem, (void)) \
  F(CRYPTO, BIO *, BIO_new, (const BIO_METHOD *)) \
  F(CRYPTO, int, BIO_free, (BIO *)) \
  F(CRYPTO, int, BIO_read, (BIO *, void *, int)) \
  F(CRYPTO, int, BIO_write, (BIO *, const void *, int)) \
  F(CRYPTO, long, BIO_ctrl, (BIO *, int, long, void *)) \
  F(SSL_, const SSL_METHOD *, DTLS_method, (void)) \
  F(SSL_, SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *)) \
  F(SSL_, void, SSL_CTX_free, (SSL_CTX *)) \
  F(SSL_, long, SSL_CTX_ctrl, (SSL_CTX *, int, long, void *)) \
  F(SSL_, uint64_t, SSL_CTX_set_options, (SSL_CTX *, uint64_t)) \
  F(SSL_, int, SSL_CTX_set_cipher_list, (SSL_CTX *, const char *)) \
  F(SSL_, int, SSL_CTX_use_certificate, (SSL_CTX *, X509 *)) \
  F(SSL_, int, SSL_CTX_use_PrivateKey, (SSL_CTX *, EVP_PKEY *)) \
  F(SSL_, void, SSL_CTX_set_verify, (SSL_CTX *, int, void *)) \
  F(SSL_, void, SSL_CTX_set_cert_verify_callback, (SSL_CTX *, int (*)(X509_STORE_CTX *, void *), void *)) \
  F(SSL_, int, SSL_CTX_set_tlsext_use_srtp, (SSL_CTX *, const char *)) \
  F(SSL_, SSL *, SSL_new, (SSL_CTX *)) \
  F(SSL_, void, SSL_free, (SSL *)) \
  F(SSL_, void, SSL_set_bio, (SSL *, BIO *, BIO *)) \
  F(SSL_, void, SSL_set_accept_state, (SSL *)) \
  F(SSL_, void, SSL_set_connect_state, (SSL *)) \
  F(SSL_, int, SSL_set_ex_data, (SSL *, int, void *)) \
  F(SSL_, void *, SSL_get_ex_data, (const SSL *, int)) \
  F(SSL_, int, SSL_get_ex_data_X509_STORE_CTX_idx, (void)) \
  F(SSL_, long, SSL_ctrl, (SSL *, int, long, void *)) \
  F(SSL_, int, SSL_do_handshake, (SSL *)) \
  F(SSL_, int, SSL_read, (SSL *, void *, int)) \
  F(SSL_, int, SSL_shutdown, (SSL *)) \
  F(SSL_, int, SSL_is_init_finished, (const SSL *)) \
  F(SSL_, int, SSL_get_error, (const SSL *, int)) \
  F(SSL_, SRTP_PROTECTION_PROFILE *, SSL_get_selected_srtp_profile, (SSL *)) \
  F(SSL_, int, SSL_export_keying_material, \
    (SSL *, unsigned char *, size_t, const char *, size_t, const unsigned char *, size_t, int)) \
  F(SRTP, int, srtp_init, (void)) \
  F(SRTP, int, srtp_create, (srtp_t *, const srtp_policy_t *)) \
  F(SRTP, int, srtp_dealloc, (srtp_t)) \
  F(SRTP, int, srtp_crypto_policy_set_from_profile_for_rtp, (srtp_crypto_policy_t *, int)) \
  F(SRTP, int, srtp_crypto_policy_set_from_profile_for_rtcp, (srtp_crypto_policy_t *, int)) \
  F(SRTP, int, srtp_protect, (srtp_t, void *, int *)) \
  F(SRTP, int, srtp_protect_rtcp, (srtp_t, void *, int *)) \
  F(SRTP, int, srtp_unprotect, (srtp_t, void *, int *)) \
  F(SRTP, int, srtp_unprotect_rtcp, (srtp_t, void *, int *))

#define GLP_WEBRTC_MEMBER(library, result, name, parameters) result(*name) parameters;
typedef struct {
  GLP_WEBRTC_FUNCTIONS(GLP_WEBRTC_MEMBER)
} glp_rtc_functions;

/// All of them; filled by glp_rtc_load.
extern glp_rtc_functions glp_rtc;

/// Fills in an error with what OpenSSL says, and forgets that. Always false.
bool glp_rtc_fail(glp_rtc_error *error, const char *what);

/// Used by endpoints.
SSL_CTX *glp_identity_context(const glp_identity *identity);
/// Nonzero where it is connected; then the profile, and keys and salts of client and server (RFC 5764, 4.2).
bool glp_dtls_keys(glp_dtls *dtls, glp_srtp_profile *profile, uint8_t *outbound, uint8_t *inbound);

#endif
