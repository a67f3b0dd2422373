package wiring

import (
	"fairlead.dev/render/worker"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/tree"
)

const (
	// leastStatus is how many bytes the files of a status branch may always have.
	leastStatus = 128 << 20
	// mostStatus is how many they may have where nothing limits this process: more than
	// a million machines take, of which each has about 1.1 KB.
	mostStatus = 2 << 30
)

// statusBudget returns what may be read of a status branch by a process that may take so
// many bytes of memory; 0 is no limit. An agent has several times its bytes in
// memory, so that they run into this budget, and are reported, before memory ends.
func statusBudget(memory int64) git.Budget {
	content := int64(mostStatus)
	if memory > 0 {
		content = memory / 8
	}
	content = max(content, leastStatus)
	return git.Budget{
		Tree: tree.Budget{
			Files:     int(content >> 10), // one cluster takes more than a kilobyte
			Bytes:     content,
			FileBytes: max(16<<20, content/8), // fleet.yaml may name each cluster
		},
		Received: max(128<<20, content/2),
		Objects:  max(1_000_000, int(content>>9)),
	}
}

// statusOptions are those of a status branch that this process writes.
func (s Settings) statusOptions(observe func(git.Usage)) (git.BranchOptions, error) {
	o, err := s.author()
	o.Budget, o.Observe = statusBudget(worker.MemoryLimit()), observe
	return o, err
}
