package replicas

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// The paths that a replica serves to the leader. Everything is JSON; the
// leader's identity is a query parameter.
const (
	heartbeatPath = "/v1/attend"
	passPath      = "/v1/pass"
	leaderKey     = "leader"
)

// maxBody bounds what one replica takes from another: the definition of a
// cluster with its Secrets.
const maxBody = 64 << 20

// A heartbeatRequest is a call of Heartbeat. Released versions know its fields by their names.
type heartbeatRequest struct{ Answer string }

type heartbeatReply struct {
	Nonce   string `json:"Question"`
	Changed []fleet.Key
}

// Handler serves r to the leader. It is for connections that TLS protects: what
// comes has secrets in it.
func (r *Replica) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+heartbeatPath, func(w http.ResponseWriter, req *http.Request) {
		var in heartbeatRequest
		if !read(w, req, func(b []byte) error { return json.Unmarshal(b, &in) }) {
			return
		}
		nonce, changed, err := r.Heartbeat(req.Context(), req.URL.Query().Get(leaderKey), in.Answer)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		reply(w, heartbeatReply{nonce, changed})
	})
	mux.HandleFunc("POST "+passPath, func(w http.ResponseWriter, req *http.Request) {
		var c *fleet.Cluster
		var known fleet.Memory
		var frozen string
		if !read(w, req, func(b []byte) (err error) { c, known, frozen, err = decode(b); return err }) {
			return
		}
		res := r.Pass(req.Context(), req.URL.Query().Get(leaderKey), c, known, frozen)
		if errors.Is(res.Err, reconcile.ErrPostponed) {
			http.Error(w, res.Err.Error(), http.StatusMisdirectedRequest)
			return
		}
		reply(w, outcomeOf(res))
	})
	return mux
}

func read(w http.ResponseWriter, r *http.Request, into func([]byte) error) bool {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = into(b)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who asked is gone
}

// A Dialer connects to replicas.
type Dialer struct{ client *http.Client }

// NewDialer returns a Dialer for replicas with the configuration c, which TLS
// made.
func NewDialer(c *tls.Config) *Dialer {
	dialer := net.Dialer{Timeout: 5 * time.Second, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}}
	return &Dialer{client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: c, DialContext: dialer.DialContext, TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, // replicas are behind no proxy
	}}}
}

// Dial returns the replica with that identity. It connects with the first call.
func (d *Dialer) Dial(identity string) (Peer, error) {
	address := Address(identity)
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("the replica %s has no address: %w", identity, err)
	}
	return &remote{client: d.client, url: "https://" + address}, nil
}

// A remote is a replica behind HTTP.
type remote struct {
	client *http.Client
	url    string
}

var (
	_ Peer = (*remote)(nil)
	_ Peer = (*Replica)(nil)
)

// Heartbeat implements Peer.
func (r *remote) Heartbeat(ctx context.Context, leader, answer string) (string, []fleet.Key, error) {
	b, err := json.Marshal(heartbeatRequest{answer})
	if err != nil {
		return "", nil, err
	}
	var out heartbeatReply
	if err := r.post(ctx, heartbeatPath, leader, b, &out); err != nil {
		return "", nil, err
	}
	return out.Nonce, out.Changed, nil
}

// Pass implements Peer. Where there is no answer, what was done is seen by the
// next pass.
func (r *remote) Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory, frozen string) reconcile.Result {
	b, err := encode(c, known, frozen)
	if err != nil {
		return reconcile.Result{Err: fleet.Errorf(fleet.Invalid, "send cluster "+c.Key.String()+" to its replica", "%w", err), After: time.Minute}
	}
	var out outcome
	if err := r.post(ctx, passPath, leader, b, &out); err != nil {
		return reconcile.Result{Err: reconcile.ErrPostponed, After: retryAfter}
	}
	return out.result()
}

func (r *remote) post(ctx context.Context, path, leader string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path+"?"+url.Values{leaderKey: {leader}}.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("the replica answered %s: %s", res.Status, bytes.TrimSpace(text))
	}
	return json.NewDecoder(res.Body).Decode(out)
}
