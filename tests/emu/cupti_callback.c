/* SPDX-License-Identifier: MIT
 *
 * The subscriber: there is one. It is called back in the thread of the call, without a lock, and
 * may unsubscribe there.
 */
#include <pthread.h>
#include <string.h>

#include "cupti_parts.h"

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc function; /* NULL: there is none */
    void *data;
    bool wanted[CUPTI_CB_DOMAIN_STATE + 1][CUPTI_CBIDS];
};

static struct CUpti_Subscriber_st subscriber;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool cupti_subscribed(void)
{
    bool any;
    pthread_mutex_lock(&lock);
    any = subscriber.function != NULL;
    pthread_mutex_unlock(&lock);
    return any;
}

EMU_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                   void *data)
{
    CUptiResult result = CUPTI_SUCCESS;
    if (handle == NULL || callback == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    if (subscriber.function != NULL) {
        result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    } else {
        subscriber.function = callback;
        subscriber.data = data;
        *handle = &subscriber;
    }
    pthread_mutex_unlock(&lock);
    cupti_listen();
    return result;
}

void cupti_unsubscribe_all(void)
{
    pthread_mutex_lock(&lock);
    memset(&subscriber, 0, sizeof subscriber);
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static bool is_subscriber(CUpti_SubscriberHandle handle)
{
    return handle == &subscriber && subscriber.function != NULL;
}

EMU_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    bool known;
    pthread_mutex_lock(&lock);
    known = is_subscriber(handle);
    pthread_mutex_unlock(&lock);
    if (!known)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cupti_unsubscribe_all();
    cupti_listen();
    return CUPTI_SUCCESS;
}

static CUptiResult want(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                        CUpti_CallbackId first, CUpti_CallbackId count)
{
    CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;
    if (domain <= CUPTI_CB_DOMAIN_INVALID || domain > CUPTI_CB_DOMAIN_STATE || first >= CUPTI_CBIDS)
        return result;
    pthread_mutex_lock(&lock);
    if (is_subscriber(handle)) {
        for (CUpti_CallbackId i = 0; i < count; i++)
            subscriber.wanted[domain][first + i] = enable;
        result = CUPTI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EMU_API CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                        CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    return want(enable, handle, domain, cbid, 1);
}

EMU_API CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                      CUpti_CallbackDomain domain)
{
    return want(enable, handle, domain, 0, CUPTI_CBIDS);
}

static void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    CUpti_CallbackFunc function = NULL;
    void *user = NULL;
    pthread_mutex_lock(&lock);
    if (subscriber.function != NULL && subscriber.wanted[domain][cbid]) {
        function = subscriber.function;
        user = subscriber.data;
    }
    pthread_mutex_unlock(&lock);
    if (function != NULL)
        function(user, domain, cbid, data);
}

/* Parameters, results and names of kernels are not known here. */
void cupti_tell_call(const struct cupti_function *function, const struct emu_heard_call *call,
                     CUpti_ApiCallbackSite site)
{
    static _Thread_local uint64_t kept; /* by the program, from enter to exit */
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionName = function->name,
                               .context = call->context,
                               .contextUid = emu_context_id(call->context),
                               .correlationData = &kept,
                               .correlationId = call->correlation};
    call_back(function->domain, function->cbid, &data);
}

void cupti_tell_context(CUcontext context, bool created)
{
    CUpti_ResourceData data = {.context = context};
    call_back(CUPTI_CB_DOMAIN_RESOURCE,
              created ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED
                      : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
              &data);
}
