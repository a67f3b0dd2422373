package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// inotifyFile has how many instances of inotify one user may have. All machines
// together are one user of the host: root.
const inotifyFile = "/proc/sys/fs/inotify/max_user_instances"

// each is how many instances of inotify a machine takes that is a control plane.
const each = 30

// Shortage says what the host has too little of for n machines that are all nodes,
// and what to do about it; empty: it has enough. The lab changes no setting of the
// host, so a person has to.
func Shortage(n int) (string, error) {
	text, err := os.ReadFile(inotifyFile)
	if err != nil {
		return "", err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return "", fmt.Errorf("%s is no number: %w", inotifyFile, err)
	}
	return shortage(n, limit), nil
}

func shortage(n, limit int) string {
	if n*each <= limit {
		return ""
	}
	return fmt.Sprintf("%d machines that are nodes take %d instances of inotify, and the host allows %d for all of them: "+
		"kubelets and containerd end with \"too many open files\". The lab changes no setting of the host; do so yourself: sysctl fs.inotify.max_user_instances=%d",
		n, n*each, limit, max(1024, n*each))
}
