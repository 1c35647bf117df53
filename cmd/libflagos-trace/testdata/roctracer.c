/* roctracer.c - drives what roctracer calls, alone: recording begins 40 times, and each time
 * it ends while the thread is in a call; then a whole call is made. Prints how many records
 * of calls there are. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../roctracer.h"
#include "../shim.h"

enum { HIP_API = 3, WAIT = 1, LAUNCH = 2 };

static uint64_t clock_ns;
static int timestamp(uint64_t *t)
{
    *t = ++clock_ns;
    return 0;
}

static void call(uint32_t id, uint64_t correlation, uint32_t phase)
{
    uint64_t data[16] = {correlation, phase};
    ft_roc_call(HIP_API, id, data, NULL);
}

int main(void)
{
    uint8_t shapes[4] = {0};
    uint64_t correlation = 0;
    ft_block b;
    int calls = 0;
    ft_open(65536, 4, 20);
    for (int window = 0; window < 40; window++) {
        ft_roc_open((void *)timestamp, shapes, sizeof shapes);
        call(LAUNCH, ++correlation, 0);
        call(LAUNCH, correlation, 1);
        call(WAIT, ++correlation, 0); /* its end comes when nobody is shown it */
    }
    ft_roc_flush();
    while (ft_take(&b))
        for (size_t at = 0; at < b.valid; at += FT_ROC_RECORD) {
            uint32_t domain;
            memcpy(&domain, b.data + at, sizeof domain);
            calls += domain == HIP_API;
        }
    printf("%d calls\n", calls);
    return 0;
}
