package baseline

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
)

//go:embed torch-cuda.json
var torchCUDA []byte

// DefaultName is the name of the embedded baseline.
const DefaultName = "torch-cuda"

var embedded = sync.OnceValues(func() (*shape.Shape, error) { return shape.Read(torchCUDA) })

// Default is the embedded baseline: what torch.profiler writes on CUDA. It requires
// the categories and arguments that Torch-FL's parity test requires; what newer
// versions write beyond is optional. It must not be changed.
func Default() *Side {
	s, err := embedded()
	if err != nil {
		panic("baseline: the embedded baseline: " + err.Error()) // a test reads it
	}
	return fromShape(DefaultName, s)
}

// DefaultText is the text of the embedded baseline.
func DefaultText() []byte { return torchCUDA }

// Embedded returns an embedded baseline by name. Errors wrap ErrNoBaseline.
func Embedded(name string) (*Side, error) {
	if name != DefaultName {
		return nil, fmt.Errorf("%w named %q; there is %s", ErrNoBaseline, name, DefaultName)
	}
	return Default(), nil
}
