package cloud

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

type always string

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

// TestNoList: an answer without a list is none of no secrets.
func TestNoList(t *testing.T) {
	for text, wrong := range map[always]bool{`{}`: true, `{"SecretList": null}`: true, `{"SecretList": []}`: false} {
		c := newClient(text, credentials.NewStaticCredentialsProvider("a", "b", ""), "eu-central-1", "")
		if _, err := c.Secrets(t.Context(), "a"); (err != nil) != wrong || IsNotFound(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
