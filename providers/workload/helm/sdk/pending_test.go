package sdk_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// rewrite sets the status of the release that s holds, as Helm keeps it: JSON,
// zipped, in base64, beside a label.
func rewrite(t *testing.T, s *corev1.Secret, status string) {
	t.Helper()
	zipped, err := base64.StdEncoding.DecodeString(string(s.Data["release"]))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var release map[string]any
	if err := json.Unmarshal(plain, &release); err != nil {
		t.Fatal(err)
	}
	release["info"].(map[string]any)["status"] = status
	if plain, err = json.Marshal(release); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(plain)
	_ = w.Close()
	s.Data["release"] = []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
	s.Labels["status"] = status
}
