//go:build linux || darwin

package docker

import "syscall"

// freeDisk returns the bytes that are free at path; 0: not known.
func freeDisk(path string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // other systems have other types
}
