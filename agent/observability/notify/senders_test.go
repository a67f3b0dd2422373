package notify_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/fleet"
)

// hostile is a text of others that tries to be markup, a mention and a secret line.
const hostile = "<!channel> <b>*bold*</b> @room [x](https://evil) `code`\r\nBcc: evil@example.com"

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func message() notify.Message {
	return notify.Message{Fleet: "edge", Events: []fleet.Event{
		{ID: "1", Type: fleet.ClusterUpgraded, At: noon(), Cluster: eu1, Message: "Kubernetes v1.33.5 → v1.34.1", Revision: rev},
		{ID: "2", Type: fleet.ProblemFound, At: noon(), Message: hostile},
	}}
}

// A receiver is a server that notes what it is sent, and answers as it is told.
type receiver struct {
	*httptest.Server
	got    []request
	answer func(w http.ResponseWriter)
}

type request struct {
	method, path string
	header       http.Header
	body         map[string]any
	raw          []byte
}

func receive(t *testing.T) *receiver {
	r := &receiver{answer: func(http.ResponseWriter) {}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		raw, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		got := request{method: q.Method, path: q.URL.EscapedPath(), header: q.Header, raw: raw}
		if err := json.Unmarshal(raw, &got.body); err != nil {
			t.Errorf("%q is no JSON: %v", raw, err)
		}
		r.got = append(r.got, got)
		r.answer(w)
	}))
	t.Cleanup(r.Close)
	return r
}

func send(t *testing.T, target fleet.NotificationTarget, c notify.Credentials) (int, error) {
	t.Helper()
	s, err := notify.Open(target, c, noon)
	if err != nil {
		t.Fatal(err)
	}
	return s.Send(t.Context(), message())
}

func secret(s string) fleet.Secret { return fleet.NewSecret([]byte(s)) }

// clean fails where text has markup or a mention that came with an event.
func clean(t *testing.T, text string, markup ...string) {
	t.Helper()
	for _, m := range markup {
		if strings.Contains(text, m) {
			t.Errorf("%q is in the message:\n%s", m, text)
		}
	}
}

func TestSlack(t *testing.T) {
	r := receive(t)
	if n, err := send(t, fleet.NotificationTarget{Type: fleet.TargetSlack}, notify.Credentials{Address: r.URL + "/services/T/B/x"}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	text := r.got[0].body["text"].(string)
	clean(t, text, "<!channel>", "*bold*", "`")
	if want := "• *prod/eu-1* is upgraded: Kubernetes v1.33.5 → v1.34.1 (main@5b3c7e0a1f2d)"; !strings.Contains(text, want) || r.got[0].path != "/services/T/B/x" {
		t.Errorf("%s\n%s", r.got[0].path, text)
	}

	bot := fleet.NotificationTarget{Type: fleet.TargetSlack, Channel: "#ops"}
	r.answer = func(w http.ResponseWriter) { fmt.Fprint(w, `{"ok": false, "error": "not_in_channel"}`) }
	n, err := send(t, bot, notify.Credentials{Address: r.URL, Token: secret("xoxb")})
	if n != 0 || err == nil || !strings.Contains(err.Error(), "not_in_channel") {
		t.Errorf("a bot is refused with 200, and that counts as told: %d, %v", n, err)
	}
	if q := r.got[1]; q.body["channel"] != "#ops" || q.header.Get("Authorization") != "Bearer xoxb" {
		t.Errorf("%v %v", q.body["channel"], q.header)
	}
}

// TestManyEvents: a message for people has 20 lines at most, and says how many are left out.
func TestManyEvents(t *testing.T) {
	r := receive(t)
	s, err := notify.Open(fleet.NotificationTarget{Type: fleet.TargetSlack}, notify.Credentials{Address: r.URL}, noon)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Send(t.Context(), notify.Message{Fleet: "edge", Events: make([]fleet.Event, 25)})
	text := r.got[0].body["text"].(string)
	if n != 25 || err != nil || strings.Count(text, "\n") != 21 || !strings.HasSuffix(text, "and 5 more. Run fairlead status for the state of the fleet") {
		t.Errorf("%d, %v\n%s", n, err, text)
	}
}

// TestAnswersSayWhen: the time after which a target may be asked again is understood.
func TestAnswersSayWhen(t *testing.T) {
	r := receive(t)
	r.answer = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, err := send(t, fleet.NotificationTarget{Type: fleet.TargetSlack}, notify.Credentials{Address: r.URL})
	if err == nil || notify.After(err) != 90*time.Second {
		t.Errorf("%v", err)
	}
}

func TestTeams(t *testing.T) {
	r := receive(t)
	if n, err := send(t, fleet.NotificationTarget{Type: fleet.TargetMSTeams}, notify.Credentials{Address: r.URL}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	clean(t, string(r.got[0].raw), "<b>", "*bold*\"", "[x](")
	card := r.got[0].body["attachments"].([]any)[0].(map[string]any)
	content := card["content"].(map[string]any)
	if card["contentType"] != "application/vnd.microsoft.card.adaptive" || content["type"] != "AdaptiveCard" || len(content["body"].([]any)) != 3 {
		t.Errorf("%s", r.got[0].raw)
	}
}

func TestMatrix(t *testing.T) {
	r := receive(t)
	target := fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!ops:example.com"}
	for range 2 {
		if n, err := send(t, target, notify.Credentials{Address: r.URL, Token: secret("syt")}); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	q := r.got[0]
	if want := "/_matrix/client/v3/rooms/%21ops:example.com/send/m.room.message/1-2"; q.method != "PUT" || q.path != want || r.got[1].path != want {
		t.Errorf("%s %s, then %s: a message that comes twice is shown twice", q.method, q.path, r.got[1].path)
	}
	clean(t, q.body["formatted_body"].(string), "<b>", "<!channel>")
	if m, ok := q.body["m.mentions"].(map[string]any); !ok || len(m) > 0 || q.header.Get("Authorization") != "Bearer syt" {
		t.Errorf("%v %v", q.body, q.header)
	}
}

func TestWebhook(t *testing.T) {
	r := receive(t)
	key := []byte("a key of 32 bytes for signatures")
	c := notify.Credentials{Address: r.URL, SigningKey: secret("whsec_" + base64.StdEncoding.EncodeToString(key))}
	if n, err := send(t, fleet.NotificationTarget{Type: fleet.TargetWebhook}, c); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	want := map[string]any{
		"specversion": "1.0", "id": "1", "source": "/fairlead/edge", "type": "dev.fairlead.ClusterUpgraded", "subject": "prod/eu-1",
		"time": "2026-01-02T12:00:00Z", "datacontenttype": "application/json",
		"data": map[string]any{
			"fleet": "edge", "cluster": map[string]any{"namespace": "prod", "name": "eu-1"}, "message": "Kubernetes v1.33.5 → v1.34.1",
			"revision": map[string]any{"ref": "main", "digest": rev.Digest},
		},
	}
	if diff := cmp.Diff(want, r.got[0].body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h := r.got[0].header
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), r.got[0].raw)
	if got := h.Get("webhook-signature"); got != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) || h.Get("webhook-id") != "1" {
		t.Errorf("the signature is %q of %q", got, h.Get("webhook-id"))
	}

	r.got = nil
	r.answer = func(w http.ResponseWriter) {
		if len(r.got) == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	if n, err := send(t, fleet.NotificationTarget{Type: fleet.TargetWebhook}, c); n != 1 || err == nil {
		t.Errorf("of two events one was taken, told: %d, %v", n, err)
	}
}

// TestErrorsShowNoSecret: addresses and tokens are in no error, redirects are not followed,
// and the other side's words are told.
func TestErrorsShowNoSecret(t *testing.T) {
	elsewhere := receive(t)
	r := receive(t)
	c := notify.Credentials{Address: r.URL + "/SECRET", Token: secret("SECRET")}
	target := fleet.NotificationTarget{Type: fleet.TargetWebhook}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"invalid_token": func(w http.ResponseWriter) { http.Error(w, "invalid_token", http.StatusForbidden) },
		"307": func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		r.answer = answer
		_, err := send(t, target, c)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(elsewhere.got) > 0 {
		t.Error("a redirect was followed")
	}
	r.Close()
	if _, err := send(t, target, c); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestEchoedSecrets: secrets that a target repeats in its answer are in no error, since errors are on the
// status branch.
func TestEchoedSecrets(t *testing.T) {
	var seen http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		http.Error(w, "not allowed: "+r.Header.Get("Authorization")+" at "+r.URL.Path+"?"+r.URL.RawQuery+" of https://"+r.Host+r.RequestURI, http.StatusForbidden)
	}))
	defer s.Close()
	for name, c := range map[string]struct {
		target fleet.NotificationTarget
		with   notify.Credentials
	}{
		"a webhook": {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: s.URL + "/hooks/s3cret-path?key=s3cret-query", Token: secret("tok-12345")}},
		"slack":     {fleet.NotificationTarget{Type: fleet.TargetSlack}, notify.Credentials{Address: s.URL + "/services/T0000001/s3cret-path"}},
		"matrix":    {fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!room:example.com"}, notify.Credentials{Address: s.URL, Token: secret("tok-12345")}},
	} {
		_, err := send(t, c.target, c.with)
		if err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, word := range []string{"tok-12345", "s3cret"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q is in %v (of %v)", name, word, err, seen)
			}
		}
	}
	to, err := notify.Open(fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!room:example.com"}, notify.Credentials{Address: s.URL, Token: secret("tok-12345")}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.(notify.Prober).Probe(t.Context()); err == nil || strings.Contains(err.Error(), "tok-12345") {
		t.Errorf("a probe says %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		target fleet.NotificationTarget
		with   notify.Credentials
		want   string
	}{
		"no address":             {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{}, "its address is no URL"},
		"another scheme":         {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: "file:///etc/passwd"}, "its address is no URL"},
		"a channel alone":        {fleet.NotificationTarget{Type: fleet.TargetSlack, Channel: "#ops"}, notify.Credentials{Address: "https://example.com"}, "a channel goes with a token"},
		"a room without a token": {fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!x:y"}, notify.Credentials{Address: "https://example.com"}, "no file token"},
		"no mail server":         {fleet.NotificationTarget{Type: fleet.TargetEmail}, notify.Credentials{Address: "https://example.com"}, "smtp://"},
		"nobody writes":          {fleet.NotificationTarget{Type: fleet.TargetEmail}, notify.Credentials{Address: "smtps://example.com"}, "no file from"},
		"a bad key":              {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: "https://example.com", SigningKey: secret("whsec_%")}, "base64"},
		"no certificate":         {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: "https://example.com", Authorities: []byte("x")}, "ca.crt has no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := notify.Open(c.target, c.with, noon); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	open := notify.Folder(dir)
	if _, err := open("ops"); err == nil || !strings.Contains(err.Error(), "no folder ops") {
		t.Error(err)
	}
	if _, err := notify.Folder("")("ops"); err == nil || !strings.Contains(err.Error(), "--notification-credentials") {
		t.Error(err)
	}
	put := func(name, content string) {
		if err := os.MkdirAll(filepath.Join(dir, "ops"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ops", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{"https://a.example.com", "https://b.example.com"} { // it is replaced
		put("address", address+"\n")
		if c, err := open("ops"); err != nil || c.Address != address {
			t.Errorf("%q, %v", c.Address, err)
		}
	}
	put("from", "Ops <ops@example.com>")
	if _, err := open("ops"); err == nil {
		t.Error("a from with a name is taken")
	}
}

// mailServer is a mail server that takes one mail on the loopback, without TLS.
func mailServer(t *testing.T, refuse string) (address string, mail func() string) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		say := func(s string) { fmt.Fprint(c, s+"\r\n") }
		say("220 mail.example.com ESMTP")
		var all strings.Builder
		for in := false; ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			all.WriteString(line)
			switch {
			case in && line == ".\r\n":
				in = false
				say("250 taken")
				got <- all.String()
			case in:
			case refuse != "" && strings.HasPrefix(line, refuse):
				say("550 5.1.1 no such user here")
			case strings.HasPrefix(line, "DATA"):
				in = true
				say("354 go on")
			default:
				say("250 mail.example.com")
			}
		}
	}()
	return "smtp://" + l.Addr().String(), func() string { return <-got }
}

func TestEmail(t *testing.T) {
	address, mail := mailServer(t, "")
	target := fleet.NotificationTarget{Type: fleet.TargetEmail, Recipients: []string{"a@example.com", "b@example.com"}}
	if n, err := send(t, target, notify.Credentials{Address: address, From: "fairlead@example.com"}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	got := mail()
	head, body, _ := strings.Cut(got[strings.Index(got, "From: "):], "\r\n\r\n")
	for _, want := range []string{"To: a@example.com, b@example.com", "Subject: edge: 2 events", "Message-ID: <1-2@example.com>", "Date: Fri, 02 Jan 2026 12:00:00 +0000"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is missing in\n%s", want, head)
		}
	}
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(strings.TrimSuffix(body, ".\r\n"), "\r\n", ""))
	if err != nil || !strings.Contains(string(text), "prod/eu-1 is upgraded: Kubernetes v1.33.5 → v1.34.1") {
		t.Errorf("%v\n%s", err, text)
	}
	clean(t, got, "\r\nBcc:")

	address, _ = mailServer(t, "RCPT TO:<b@")
	_, err = send(t, target, notify.Credentials{Address: address, From: "fairlead@example.com"})
	if err == nil || !strings.Contains(err.Error(), "b@example.com is refused: 550 \"5.1.1 no such user here\"") {
		t.Errorf("%v", err)
	}
}

// TestEmailNeedsTLS: a password is not sent in clear to another machine.
func TestEmailNeedsTLS(t *testing.T) {
	address, _ := mailServer(t, "")
	s, err := notify.Open(fleet.NotificationTarget{Type: fleet.TargetEmail, Recipients: []string{"a@example.com"}}, notify.Credentials{
		Address: strings.Replace(address, "127.0.0.1", "0.0.0.0", 1), From: "f@example.com", Username: "u", Password: secret("p"),
	}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(context.Background(), message()); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("%v", err)
	}
}
