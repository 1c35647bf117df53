package bind

import (
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// interposedCall is one of the runtime's functions that the library stands in for.
const interposedCall = "aclrtMemcpy"

// preload is what became of standing in for the runtime's functions.
type preload struct {
	works  bool
	answer string // the file in which the program's calls end, "" if that is not known
	named  bool   // LD_PRELOAD names the library
}

// lookPreload looks up where the program's calls of the runtime lead. Enabling the
// kinds of memory would succeed wherever LD_PRELOAD has the library's name in it, and
// then bring nothing.
func lookPreload(library string, getenv func(string) string) preload {
	p := preload{named: strings.Contains(getenv("LD_PRELOAD"), libraryName)}
	at, err := purego.Dlsym(purego.RTLD_DEFAULT, interposedCall)
	if err != nil || at == 0 {
		return p
	}
	maps, err := dl.Maps()
	if err != nil {
		return p
	}
	p.answer = maps.At(uint64(at))
	p.works = p.answer != "" && p.answer == library
	return p
}

// note says why copies and fills are not recorded.
func (p preload) note() string {
	switch {
	case p.named && p.answer != "":
		return fmt.Sprintf("copies and fills are not recorded: LD_PRELOAD names %s, but the program's calls of %s go to %s", libraryName, interposedCall, p.answer)
	case p.named:
		return fmt.Sprintf("copies and fills are not recorded: LD_PRELOAD names %s, but it does not stand before the program's calls of %s", libraryName, interposedCall)
	}
	return "copies and fills are not recorded: libmspti can do that only if it is preloaded into the program (flagos-trace record --preload)"
}
