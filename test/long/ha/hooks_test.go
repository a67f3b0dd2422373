package ha

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hooks are where replicas hear of pushes.
type hooks struct {
	port   string // the same at all of their addresses
	secret string // file
}

const hookSecret = "a secret of webhooks that is long enough"

func (w *world) openHooks() {
	l, err := net.Listen("tcp", addressOf("r0")+":0")
	w.must(err)
	_, w.hooks.port, _ = net.SplitHostPort(l.Addr().String())
	w.must(l.Close())
	w.hooks.secret = filepath.Join(w.dir, "hook")
	w.must(os.WriteFile(w.hooks.secret, []byte(hookSecret), 0o600))
}

// call tells a replica of a push, as a forge does. It returns the status code
// and what was said.
func (w *world) call(replica, id string) (int, string) {
	w.t.Helper()
	body := fmt.Appendf(nil, `{"repository":%q,"ref":"refs/heads/main","id":%q}`, w.url, id)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	to := "http://" + net.JoinHostPort(addressOf(replica), w.hooks.port) + "/hook/generic"
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, to, bytes.NewReader(body))
	w.must(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	w.must(err)
	return res.StatusCode, string(text)
}

// TestWebhookReachesTheLeader pushes to replicas that would not look at the
// repository by themselves for an hour, and tells each of them in turn.
func TestWebhookReachesTheLeader(t *testing.T) {
	long(t)
	w := newWorld(t, "--interval", "1h")
	w.push(1)
	for _, r := range []string{"r0", "r1", "r2"} {
		w.startReplica(r)
	}
	w.converged("the fleet is made, from what the leader saw at its start")
	leader := w.newLeader("")
	for i, r := range []string{"r0", "r1", "r2"} {
		w.push(2 + i)
		if code, text := w.call(r, fmt.Sprint("push ", i)); code != http.StatusAccepted || !strings.Contains(text, "looking") {
			t.Fatalf("%s answers %d %s", r, code, text)
		}
		w.converged("the webhook reached " + r + ", and " + leader + " leads")
	}
	// While nobody leads a forge is told to come again, and who leads next
	// looks for itself.
	w.signal(leader, syscall.SIGKILL)
	other := map[string]string{"r0": "r1", "r1": "r2", "r2": "r0"}[leader]
	w.push(1)
	if code, text := w.call(other, "in between"); code != http.StatusServiceUnavailable {
		t.Errorf("%s answers %d %s, and nobody leads", other, code, text)
	}
	w.newLeader(leader)
	w.converged("the leader was killed before it was told")
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
