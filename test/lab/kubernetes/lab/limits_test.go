package lab

import (
	"strings"
	"testing"
)

func TestShortage(t *testing.T) {
	for _, c := range []struct {
		machines, limit int
		says            string
	}{
		{4, 128, ""},
		{5, 128, "5 machines that are nodes take 150 instances of inotify, and the host allows 128"},
		{7, 1024, ""},
		{40, 1024, "sysctl fs.inotify.max_user_instances=1200"},
	} {
		if got := shortage(c.machines, c.limit); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%d machines, %d allowed: %q, want %q", c.machines, c.limit, got, c.says)
		}
	}
	if _, err := Shortage(1); err != nil {
		t.Error(err)
	}
}
