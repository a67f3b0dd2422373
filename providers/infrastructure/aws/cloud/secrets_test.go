package cloud

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

// TestNoList: an answer without a list is none of no secrets.
func TestNoList(t *testing.T) {
	for text, wrong := range map[page200]bool{`{}`: true, `{"SecretList": null}`: true, `{"SecretList": []}`: false} {
		c := newClient(text, credentials.NewStaticCredentialsProvider("a", "b", ""), "eu-central-1", "")
		if _, err := c.Secrets(t.Context(), "a"); (err != nil) != wrong || IsNotFound(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
