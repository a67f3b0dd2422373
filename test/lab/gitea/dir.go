// Package gitea gives tests a real forge on loopback: Gitea with its HTTP and SSH servers.
// `make gitea` builds it once for all checkouts. Without it the tests are skipped.
package gitea

import (
	"fmt"
	"os"
	"path/filepath"
)

// Version is the one that is built.
const Version = "v1.27.3"

// Dir returns the folder with the program and its source: below $FAIRLEAD_KUBE, or fairlead
// in the user's cache directory.
func Dir() (string, error) {
	dir := os.Getenv("FAIRLEAD_KUBE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for what is built: %w; set FAIRLEAD_KUBE to a folder", err)
		}
		dir = filepath.Join(cache, "fairlead")
	}
	return filepath.Join(dir, "gitea-"+Version[1:]), nil
}
