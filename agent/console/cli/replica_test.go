package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestFormerReplicaFlags: an agent that replaces one with shards starts with the flags of that one,
// and says that they have no effect.
func TestFormerReplicaFlags(t *testing.T) {
	var out bytes.Buffer
	root := New(program("dev"), Streams{Out: &out, Err: &out})
	root.SetArgs([]string{"agent", "--shards=12", "--replica-listen=:9293"})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "missing --source") {
		t.Errorf("error %v, want only that the source is missing", err)
	}
	for _, name := range []string{"shards", "replica-listen"} {
		if want := "Flag --" + name + " has been deprecated, it has no effect"; !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}
