package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// Prefix begins the path of every kind: /hook/github.
	Prefix = "/hook/"

	maxBody     = 3 << 20
	bodyTimeout = 15 * time.Second
	maxAtOnce   = 32 // calls; each holds up to maxBody bytes
	replayKeep  = 10 * time.Minute
	replayMost  = 10_000
)

// The results that calls are counted by.
const (
	resultAccepted     = "accepted"
	resultPing         = "ping"
	resultIgnored      = "ignored"
	resultReplayed     = "replayed"
	resultUnauthorized = "unauthorized"
	resultMalformed    = "malformed"
	resultTooLarge     = "too_large"
	resultBusy         = "busy"
	resultUnavailable  = "unavailable"
	resultNotFound     = "not_found"
)

// Options say which calls are taken, and which functions get them.
type Options struct {
	Target  Target
	Secrets Secrets
	// Trigger makes the agent look at its repository now. It does not wait.
	Trigger func()
	// Leader returns the replica that follows the repository, "host:port" of its
	// webhooks, and whether it is this one. Nil is always this one.
	Leader func() (address string, self bool)
	// Peer is how replicas are called that serve webhooks with TLS; nil: without.
	Peer *tls.Config
	// Observe is called with each call: a kind of Kinds, or "none", and how it ended.
	// It may be nil.
	Observe func(kind, result string)
	Now     func() time.Time // nil is time.Now
	Log     *slog.Logger
}

// A Handler answers the calls of forges. It is safe for concurrent use.
type Handler struct {
	o       Options
	kinds   []kind
	slots   chan struct{}
	replays *replays
	client  *http.Client
}

var _ http.Handler = (*Handler)(nil)

// New returns a handler of all kinds that have a secret.
func New(o Options) *Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(string, string) {}
	}
	return &Handler{
		o: o, kinds: kinds(), slots: make(chan struct{}, maxAtOnce),
		replays: newReplays(replayKeep, replayMost), client: forwarder(o.Peer),
	}
}

// An answer is how a call ends.
type answer struct {
	code   int
	result string
	text   string // for who called; holds nothing that only a caller with the secret may know, unless he is one
	err    error  // for the log
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	i := slices.IndexFunc(h.kinds, func(k kind) bool { return k.name == name })
	if i < 0 || !strings.HasPrefix(r.URL.Path, Prefix) || !h.o.Secrets.has(name) {
		h.o.Observe("none", resultNotFound)
		http.NotFound(w, r)
		return
	}
	a := h.answer(w, r, h.kinds[i])
	h.o.Observe(name, a.result)
	level := slog.LevelDebug
	switch a.result {
	case resultAccepted:
		level = slog.LevelInfo
	case resultUnauthorized, resultMalformed, resultUnavailable:
		level = slog.LevelWarn
	}
	h.o.Log.Log(r.Context(), level, "answering a webhook", "kind", name, "result", a.result, "answer", a.text, "error", a.err)
	http.Error(w, a.text, a.code)
}

// answer goes from what costs nothing to what costs most.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, k kind) answer {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return answer{code: http.StatusMethodNotAllowed, result: resultMalformed, text: "use POST"}
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := k.form && media == "application/x-www-form-urlencoded"
	if !k.any && !form && media != "application/json" {
		return answer{code: http.StatusUnsupportedMediaType, result: resultMalformed, text: "the content type must be application/json"}
	}
	tooLarge := answer{code: http.StatusRequestEntityTooLarge, result: resultTooLarge, text: fmt.Sprintf("the body is larger than %d bytes", maxBody)}
	if r.ContentLength > maxBody {
		return tooLarge
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		return answer{code: http.StatusTooManyRequests, result: resultBusy, text: "too many calls at once"}
	}
	// Not every writer has a deadline: one in a test has none, and needs none.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	if err != nil {
		return answer{code: http.StatusBadRequest, result: resultMalformed, text: "the body did not arrive", err: err}
	}
	secrets, err := h.o.Secrets.of(k.name)
	if err != nil {
		return answer{code: http.StatusServiceUnavailable, result: resultUnavailable, text: "the secret cannot be read", err: err}
	}
	if !k.verify(r.Header, body, secrets) {
		return answer{code: http.StatusUnauthorized, result: resultUnauthorized, text: "the signature is wrong or missing"}
	}
	payload := body
	if form {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return answer{code: http.StatusBadRequest, result: resultMalformed, text: "the form cannot be read", err: err}
		}
		payload = []byte(values.Get("payload"))
	}
	e, err := k.read(r.Header, payload)
	if err != nil {
		return answer{code: http.StatusBadRequest, result: resultMalformed, text: "the payload cannot be read: it is not the JSON of " + k.name, err: err}
	}
	return h.act(r, k, e, body)
}

// act does what a call asks for that is known to be genuine.
func (h *Handler) act(r *http.Request, k kind, e event, body []byte) answer {
	switch {
	case e.ping:
		return answer{code: http.StatusOK, result: resultPing, text: "this is Fairlead, and the secret is right"}
	case !e.push && !e.pull:
		return answer{code: http.StatusAccepted, result: resultIgnored, text: fmt.Sprintf("ignored: the event %q is neither a push nor about a pull request", e.name)}
	}
	why := h.o.Target.ignores(e)
	if why == anotherRef && !h.leads() {
		why = "" // which branch the agent writes the one that leads knows alone
	}
	if why != "" {
		return answer{code: http.StatusAccepted, result: resultIgnored, text: "ignored: it is about " + why}
	}
	key := keyOf(k.name, e.id, body)
	if !e.repeats && !h.replays.add(key, h.o.Now()) {
		return answer{code: http.StatusAccepted, result: resultReplayed, text: "ignored: the same call came before"}
	}
	if err := h.tell(r, body); err != nil {
		h.replays.forget(key)
		return answer{code: http.StatusServiceUnavailable, result: resultUnavailable, text: "the replica that follows the repository cannot be told", err: err}
	}
	return answer{code: http.StatusAccepted, result: resultAccepted, text: "looking at the repository"}
}

// leads reports whether the agent is in this replica.
func (h *Handler) leads() bool {
	if h.o.Leader == nil {
		return true
	}
	_, self := h.o.Leader()
	return self
}

// tell triggers this agent, or passes the call on to the one that leads.
func (h *Handler) tell(r *http.Request, body []byte) error {
	if h.o.Leader == nil {
		h.o.Trigger()
		return nil
	}
	leader, self := h.o.Leader()
	if self {
		h.o.Trigger()
		return nil
	}
	return h.forward(context.WithoutCancel(r.Context()), r, leader, body)
}
