// Protected packets of RTP and RTCP (RFC 3711, 7714).
#include "Libraries.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct glp_srtp {
  glp_srtp_profile profile;
  srtp_t outbound, inbound;
};

size_t glp_srtp_key_bytes(glp_srtp_profile profile) {
  switch (profile) {
  case GLP_SRTP_AES_128_GCM: return 16 + 12;
  case GLP_SRTP_AES_128_CM_SHA1_80: return 16 + 14;
  }
  return 0;
}

static srtp_t create(glp_srtp_profile profile, const uint8_t *key, int direction) {
  uint8_t copy[30] = {0};
  memcpy(copy, key, glp_srtp_key_bytes(profile));
  // Lost packets are written again as they were: the same number always has the same content, so that protecting it twice
  // gives the same packet and tells nothing.
  srtp_policy_t policy = {
      .ssrc = {.type = direction},
      .key = copy,
      .window_size = 1024,
      .allow_repeat_tx = direction == ssrc_any_outbound,
  };
  srtp_t context = NULL;
  if (glp_rtc.srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, profile)
      || glp_rtc.srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, profile)
      || glp_rtc.srtp_create(&context, &policy)) {
    context = NULL;
  }
  glp_rtc.OPENSSL_cleanse(copy, sizeof copy);
  return context;
}

glp_srtp *glp_srtp_new(
    glp_srtp_profile profile, const uint8_t *outbound, const uint8_t *inbound, glp_rtc_error *error) {
  if (!glp_rtc_load(error)) return NULL;
  glp_srtp *srtp = glp_srtp_key_bytes(profile) > 0 ? calloc(1, sizeof *srtp) : NULL;
  if (srtp) {
    srtp->profile = profile;
    srtp->outbound = create(profile, outbound, ssrc_any_outbound);
    srtp->inbound = create(profile, inbound, ssrc_any_inbound);
    if (srtp->outbound && srtp->inbound) return srtp;
  }
  glp_srtp_free(srtp);
  glp_rtc_fail(error, "libsrtp2 refuses the keys, or the profile");
  return NULL;
}

glp_srtp *glp_srtp_of_dtls(glp_dtls *dtls, glp_rtc_error *error) {
  glp_srtp_profile profile;
  uint8_t outbound[30], inbound[30];
  if (!glp_dtls_keys(dtls, &profile, outbound, inbound)) {
    glp_rtc_fail(error, "DTLS gives no keys");
    return NULL;
  }
  glp_srtp *srtp = glp_srtp_new(profile, outbound, inbound, error);
  glp_rtc.OPENSSL_cleanse(outbound, sizeof outbound);
  glp_rtc.OPENSSL_cleanse(inbound, sizeof inbound);
  return srtp;
}

glp_srtp_profile glp_srtp_profile_of(const glp_srtp *srtp) { return srtp->profile; }

void glp_srtp_free(glp_srtp *srtp) {
  if (!srtp) return;
  if (srtp->outbound) glp_rtc.srtp_dealloc(srtp->outbound);
  if (srtp->inbound) glp_rtc.srtp_dealloc(srtp->inbound);
  free(srtp);
}

size_t glp_srtp_apply(glp_srtp *srtp, glp_srtp_work work, uint8_t *bytes, size_t count, size_t capacity) {
  enum { RTP_HEADER = 12, RTCP_HEADER = 8 };
  bool is_rtp = work == GLP_PROTECT_RTP || work == GLP_UNPROTECT_RTP;
  bool protects = work == GLP_PROTECT_RTP || work == GLP_PROTECT_RTCP;
  if (count < (is_rtp ? RTP_HEADER : RTCP_HEADER) || count > INT_MAX / 2 || capacity < count) return 0;
  if (protects && capacity - count < GLP_SRTP_TRAILER_BYTES) return 0;
  int length = (int)count, status = -1;
  switch (work) {
  case GLP_PROTECT_RTP: status = glp_rtc.srtp_protect(srtp->outbound, bytes, &length); break;
  case GLP_PROTECT_RTCP: status = glp_rtc.srtp_protect_rtcp(srtp->outbound, bytes, &length); break;
  case GLP_UNPROTECT_RTP: status = glp_rtc.srtp_unprotect(srtp->inbound, bytes, &length); break;
  case GLP_UNPROTECT_RTCP: status = glp_rtc.srtp_unprotect_rtcp(srtp->inbound, bytes, &length); break;
  }
  return status || length < 0 || (size_t)length > capacity ? 0 : (size_t)length;
}

size_t glp_srtp_write_run(
    glp_srtp *srtp, const glp_rtp_header *header, const uint8_t *payloads, size_t count, size_t payload, uint8_t *bytes,
    size_t capacity) {
  if (payload == 0 || header->count < 12 || header->count > GLP_RTP_HEADER_BYTES) return 0;
  size_t at = 0;
  uint16_t number = header->sequence_number;
  for (size_t done = 0; done < count; number++) {
    size_t length = count - done < payload ? count - done : payload;
    if (capacity - at < header->count + length + GLP_SRTP_TRAILER_BYTES) return 0;
    uint8_t *packet = bytes + at;
    memcpy(packet, header->bytes, header->count);
    memcpy(packet + header->count, payloads + done, length);
    done += length;
    if (header->has_marker && done == count) packet[1] |= 0x80;
    packet[2] = (uint8_t)(number >> 8);
    packet[3] = (uint8_t)number;
    size_t written = glp_srtp_apply(srtp, GLP_PROTECT_RTP, packet, header->count + length, capacity - at);
    if (written == 0) return 0;
    at += written;
  }
  return at;
}
