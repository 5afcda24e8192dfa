/* SPDX-License-Identifier: MIT
 *
 * Classifies kernels by their names: the tracer counts launches by class, and the replay scales
 * kernels by class.
 */
#include "base/kernel_class.h"

enum { CUSTOM, LIBRARY };

static const struct comm_kernel comm_kernels[] = {
#define X(part, op, who, gpus) {part, SPECTER_##op, who, gpus},
#include "base/comm_kernels.def"
#undef X
};

/* Words of the names of kernels that do not communicate, in the order in which they are looked for:
 * a fused optimizer is written over an elementwise functor, an attention kernel holds products and
 * a softmax, a generator of random numbers may bear the name of the normal distribution. A name is
 * searched without regard to case. Mangled names keep their words whole (Itanium C++ ABI:
 * <length><word>). Names come from PyTorch (ATen/native/cuda), cuBLAS, cuDNN, CUTLASS,
 * FlashAttention, FlashInfer, Apex, DeepSpeed, vLLM, AMD's libraries, and Triton as torch.compile
 * uses it (triton_poi_, triton_red_, triton_per_). */
static const struct {
    const char *word;
    enum specter_kernel_class class;
} words[] = {
    {"multi_tensor", SPECTER_KERNEL_OPTIMIZER},
    {"adam", SPECTER_KERNEL_OPTIMIZER},
    {"adagrad", SPECTER_KERNEL_OPTIMIZER},
    {"fusedsgd", SPECTER_KERNEL_OPTIMIZER},
    {"fused_sgd", SPECTER_KERNEL_OPTIMIZER},
    {"sgd_kernel", SPECTER_KERNEL_OPTIMIZER},
    {"lamb_", SPECTER_KERNEL_OPTIMIZER},
    {"lambstage", SPECTER_KERNEL_OPTIMIZER},
    {"lion_update", SPECTER_KERNEL_OPTIMIZER},
    {"amp_update_scale", SPECTER_KERNEL_OPTIMIZER},

    /* after these stand the operators that were fused, whatever they are of */
    {"triton_poi_", SPECTER_KERNEL_ELEMENTWISE},
    {"triton_red_", SPECTER_KERNEL_REDUCTION},
    {"triton_per_", SPECTER_KERNEL_REDUCTION},

    {"flash_", SPECTER_KERNEL_ATTENTION}, /* not FlashInfer's, which has all kinds */
    {"flashatt", SPECTER_KERNEL_ATTENTION},
    {"flashmla", SPECTER_KERNEL_ATTENTION},
    {"prepare_varlen", SPECTER_KERNEL_ATTENTION},
    {"withkvcache", SPECTER_KERNEL_ATTENTION},
    {"withpagedkvcache", SPECTER_KERNEL_ATTENTION},
    {"withraggedkvcache", SPECTER_KERNEL_ATTENTION},
    {"mergestate", SPECTER_KERNEL_ATTENTION},
    {"fmha", SPECTER_KERNEL_ATTENTION},
    {"attention", SPECTER_KERNEL_ATTENTION},
    {"attn", SPECTER_KERNEL_ATTENTION},

    {"splitkreduce", SPECTER_KERNEL_GEMM}, /* the second half of a split product */
    {"gemm", SPECTER_KERNEL_GEMM},
    {"gemv", SPECTER_KERNEL_GEMM},
    {"wgmma", SPECTER_KERNEL_GEMM},
    {"cutlass", SPECTER_KERNEL_GEMM},
    {"cublas", SPECTER_KERNEL_GEMM},
    {"nvjet", SPECTER_KERNEL_GEMM},
    {"xmma", SPECTER_KERNEL_GEMM},
    {"cijk_", SPECTER_KERNEL_GEMM}, /* hipBLASLt, rocBLAS */
    {"wvsplitk", SPECTER_KERNEL_GEMM},
    {"marlin", SPECTER_KERNEL_GEMM},
    {"fused_moe_kernel", SPECTER_KERNEL_GEMM},
    {"matmul", SPECTER_KERNEL_GEMM},
    {"_bmm", SPECTER_KERNEL_GEMM},
    {"_mm", SPECTER_KERNEL_GEMM},
    {"convolve", SPECTER_KERNEL_GEMM},
    {"conv2d", SPECTER_KERNEL_GEMM},
    {"conv3d", SPECTER_KERNEL_GEMM},
    {"conv_depthwise", SPECTER_KERNEL_GEMM},
    {"miopensp3asmconv", SPECTER_KERNEL_GEMM},
    {"winograd", SPECTER_KERNEL_GEMM},
    {"fprop", SPECTER_KERNEL_GEMM},
    {"dgrad", SPECTER_KERNEL_GEMM},
    {"wgrad", SPECTER_KERNEL_GEMM},
    {"scudnn", SPECTER_KERNEL_GEMM},

    {"memcpy", SPECTER_KERNEL_COPY},
    {"memset", SPECTER_KERNEL_COPY},
    {"direct_copy", SPECTER_KERNEL_COPY},
    {"catarraybatchedcopy", SPECTER_KERNEL_COPY},
    {"_copy_kernel", SPECTER_KERNEL_COPY},
    {"copykernel", SPECTER_KERNEL_COPY},
    {"transpose", SPECTER_KERNEL_COPY},
    {"permute", SPECTER_KERNEL_COPY},
    {"fillfunctor", SPECTER_KERNEL_COPY},

    /* random numbers */
    {"distribution_", SPECTER_KERNEL_ELEMENTWISE},
    {"curand", SPECTER_KERNEL_ELEMENTWISE},
    {"hiprand", SPECTER_KERNEL_ELEMENTWISE},
    {"rocrand", SPECTER_KERNEL_ELEMENTWISE},

    {"softmax", SPECTER_KERNEL_REDUCTION},
    {"layer_norm", SPECTER_KERNEL_REDUCTION},
    {"layernorm", SPECTER_KERNEL_REDUCTION},
    {"rmsnorm", SPECTER_KERNEL_REDUCTION},
    {"rms_norm", SPECTER_KERNEL_REDUCTION},
    {"batch_norm", SPECTER_KERNEL_REDUCTION},
    {"batchnorm", SPECTER_KERNEL_REDUCTION},
    {"groupnorm", SPECTER_KERNEL_REDUCTION},
    {"reduce", SPECTER_KERNEL_REDUCTION},
    {"reduction", SPECTER_KERNEL_REDUCTION},
    {"nll_loss", SPECTER_KERNEL_REDUCTION},
    {"gammabeta", SPECTER_KERNEL_REDUCTION},
    {"cross_entropy", SPECTER_KERNEL_REDUCTION},
    {"argmax", SPECTER_KERNEL_REDUCTION},
    {"norm", SPECTER_KERNEL_REDUCTION},

    {"elementwise", SPECTER_KERNEL_ELEMENTWISE},
    {"pointwise", SPECTER_KERNEL_ELEMENTWISE},
    {"dropout", SPECTER_KERNEL_ELEMENTWISE},
    {"gelu", SPECTER_KERNEL_ELEMENTWISE},
    {"silu", SPECTER_KERNEL_ELEMENTWISE},
    {"swiglu", SPECTER_KERNEL_ELEMENTWISE},
    {"rotary", SPECTER_KERNEL_ELEMENTWISE},
    {"rope", SPECTER_KERNEL_ELEMENTWISE},
    {"_bias", SPECTER_KERNEL_ELEMENTWISE},
};

/* Not tolower(), which asks the program's locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns whether the text begins with the word. In a mangled name the length of the next part
 * stands for ::. */
static bool begins(const char *text, const char *word)
{
    while (*word != '\0') {
        if (word[0] == ':' && word[1] == ':' && is_digit(*text)) {
            word += 2;
            while (is_digit(*text))
                text++;
            continue;
        }
        if (lower(*text++) != *word++)
            return false;
    }
    return true;
}

const char *specter_kernel_find(const char *name, const char *word)
{
    if (*word == '^')
        return begins(name, word + 1) ? name : NULL;
    for (; *name != '\0'; name++) {
        if (lower(*name) == *word && begins(name, word))
            return name;
    }
    return NULL;
}

/* The pairs of neighbouring characters in a name. A word with a pair that is not among them is not
 * in the name: names of templates have a thousand characters, and a search for each of all words
 * would take most of the time that reading a trace takes. */
struct pairs {
    uint32_t seconds[32]; /* by the first of the pair: a bit for each second */
};

/* Upper and lower case are one. Other characters may share the place of a letter, so that a pair
 * may seem to be there, but never to be missing. */
static unsigned place(char c)
{
    return (unsigned char)c & 31;
}

static void pairs_init(struct pairs *p, const char *name)
{
    *p = (struct pairs){0};
    for (; name[0] != '\0' && name[1] != '\0'; name++)
        p->seconds[place(name[0])] |= UINT32_C(1) << place(name[1]);
}

/* Returns false where the word cannot be in the name. Pairs from the first ':' on are not looked
 * at: in mangled names a length takes the place of "::". */
static bool pairs_allow(const struct pairs *p, const char *word)
{
    word += *word == '^';
    for (; word[1] != '\0' && word[1] != ':'; word++) {
        if ((p->seconds[place(word[0])] >> place(word[1]) & 1) == 0)
            return false;
    }
    return true;
}

static const struct comm_kernel *comm_kernel_among(const char *name, const struct pairs *pairs)
{
    for (size_t i = 0; i < sizeof comm_kernels / sizeof *comm_kernels; i++) {
        if (pairs_allow(pairs, comm_kernels[i].part) &&
            specter_kernel_holds(name, comm_kernels[i].part))
            return &comm_kernels[i];
    }
    return NULL;
}

const struct comm_kernel *specter_comm_kernels(size_t *count)
{
    *count = sizeof comm_kernels / sizeof *comm_kernels;
    return comm_kernels;
}

const struct comm_kernel *specter_comm_kernel_of(const char *name)
{
    struct pairs pairs;
    if (name == NULL)
        return NULL;
    pairs_init(&pairs, name);
    return comm_kernel_among(name, &pairs);
}

enum specter_kernel_class specter_kernel_class_of(const char *name)
{
    struct pairs pairs;
    if (name == NULL)
        return SPECTER_KERNEL_OTHER;
    pairs_init(&pairs, name);
    if (comm_kernel_among(name, &pairs) != NULL)
        return SPECTER_KERNEL_COMM;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (pairs_allow(&pairs, words[i].word) && specter_kernel_holds(name, words[i].word))
            return words[i].class;
    }
    return SPECTER_KERNEL_OTHER;
}
