#ifdef PLINK_HAS_TLS

#include "certificates.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <memory>

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace plink::transport {

namespace {

const std::string kRankPrefix = "plink:rank:";

std::string refused(const std::string& why) { return "refused this rank's certificate: " + why; }

}  // namespace

bool speaks_for(const X509* certificate, int rank) {
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
        static_cast<GENERAL_NAMES*>(
            X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
        GENERAL_NAMES_free);
    ERR_clear_error();
    bool names_ranks = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type != GEN_URI) continue;
        const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
        const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                               static_cast<std::size_t>(ASN1_STRING_length(uri)));
        if (text == kRankPrefix + std::to_string(rank)) return true;
        if (text.compare(0, kRankPrefix.size(), kRankPrefix) == 0) names_ranks = true;
    }
    return !names_ranks;
}

std::string verdict_text(long verdict) {
    switch (verdict) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return "has a certificate that has expired";
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "has a certificate that is not valid yet: do the hosts' clocks agree?";
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "has a certificate that this job's authority did not sign";
        case X509_V_ERR_HOSTNAME_MISMATCH:
            return "has a certificate for another rank";
        default:
            return std::string("has a certificate that cannot be used: ") +
                   X509_verify_cert_error_string(verdict);
    }
}

std::string reason_text(int reason) {
    switch (reason) {
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
            return refused("it has expired, or is not valid yet");
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
            return refused("its authority did not sign it");
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
            return refused("it is for another rank, or broken");
        case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
            return refused("its signature is wrong");
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
            return refused("there was none");
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return "has no certificate";
        case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
            return "what it sent was changed on the way";
        case SSL_R_SSLV3_ALERT_BAD_RECORD_MAC:
            return "what was sent to it was changed on the way";
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
            return "does not speak TLS";
        default: {
            const char* const text = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
            return std::string("broke off TLS: ") + (text == nullptr ? "unknown reason" : text);
        }
    }
}

bool has_quick_aes() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
    return false;
#endif
}

}  // namespace plink::transport

#endif
