// What Cryptography uses of OpenSSL 3: libcrypto.
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
