package providers_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func TestFit(t *testing.T) {
	soft := strings.Repeat("a line that is much like the others\n", 100) // 3600 bytes
	var hard strings.Builder                                             // 4096 bytes, of which half is chance
	for i := range 64 {
		fmt.Fprintf(&hard, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	for reason, c := range map[string]struct {
		format, content string
		limit           int
		want            string // "plain", "gzip" or the error
	}{
		"fits":                  {"cloud-config", soft, 3600, "plain"},
		"fits compressed":       {"cloud-config", soft, 3599, "gzip"},
		"does not fit":          {"cloud-config", hard.String(), 1000, "bytes compressed and 1000 is the limit"},
		"Ignition fits":         {"ignition", soft, 3600, "plain"},
		"Ignition does not fit": {"ignition", soft, 3599, "it has 3600 bytes and 3599 is the limit"},
		"the largest are named": {"cloud-config", "write_files: [{path: /a, content: " + hard.String() + "}, {path: /b, content: x}]", 1000, "; the largest files are /a with 4096, /b with 1"},
		"another format":        {"papyrus", soft, 3600, `images read cloud-config and Ignition, and it is "papyrus"`},
	} {
		u := providers.UserData{Format: c.format, Content: fleet.NewSecret([]byte(c.content))}
		got, err := u.Fit(c.limit)
		again, _ := u.Fit(c.limit)
		switch {
		case !bytes.Equal(got, again):
			t.Errorf("%s: the same user data gives other bytes", reason)
		case len(got) > c.limit:
			t.Errorf("%s: %d bytes", reason, len(got))
		case c.want == "plain" && string(got) == c.content:
		case c.want == "gzip" && unzip(t, got) == c.content:
		case err != nil && fleet.KindOf(err) == "Invalid" && strings.Contains(err.Error(), c.want):
		default:
			t.Errorf("%s: %d bytes, %v, want %s", reason, len(got), err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), c.content[:16]) {
			t.Errorf("%s: the error shows the content", reason)
		}
	}
}

func unzip(t *testing.T, data []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
