/* SPDX-License-Identifier: MIT
 *
 * A program that marks with the real NVTX, and a comparison of tracer/abi/nvtx.h with it.
 */
#include "calls.h"

#include <abi/nvtx.h>
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>

#define SAME(_ours, _theirs) _Static_assert((int)(_ours) == (int)(_theirs), #_theirs)
#define SAME_FIELD(_ours, _theirs) \
    SAME(offsetof(struct nvtx_attributes, _ours), offsetof(nvtxEventAttributes_t, _theirs))

SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME_FIELD(size, size);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct nvtx_callbacks, places),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
SAME(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_STRING, NVTX_MESSAGE_TYPE_REGISTERED);

static nvtxEventAttributes_t registered(nvtxStringHandle_t text)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = text;
    return a;
}

int main(void)
{
    struct world w;
    nvtxDomainHandle_t domain;
    nvtxEventAttributes_t a;
    nvtxRangeId_t id;
    world_open(&w, 0, NULL);
    nvtxMarkA("mark");
    nvtxMarkW(L"wide \u00e4");
    CHECK(nvtxRangePushA("outer") == 0);
    CHECK(nvtxRangePushA("inner") == 1);
    CHECK(nvtxRangePop() == 1);
    CHECK(nvtxRangePop() == 0);
    domain = nvtxDomainCreateA("domain");
    CHECK(domain != NULL);
    a = registered(nvtxDomainRegisterStringA(domain, "registered"));
    nvtxDomainMarkEx(domain, &a);
    CHECK(nvtxDomainRangePushEx(domain, &a) == 0);
    CHECK(nvtxDomainRangePop(domain) == 0);
    id = nvtxDomainRangeStartEx(domain, &a);
    CHECK(id != 0);
    nvtxDomainRangeEnd(domain, id);
    nvtxDomainDestroy(domain);
    return failures != 0;
}
