/* chain.c - another injection library: it says that it was started. */
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void)
{
    FILE *f = fopen(getenv("CHAIN_FILE"), "w");
    if (f) {
        fputs("started", f);
        fclose(f);
    }
    return 1;
}
