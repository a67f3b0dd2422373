//go:build unix

package supervise

import "syscall"

// noCoreDump keeps the kernel from writing a core dump of this process.
func noCoreDump() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
	}
}
