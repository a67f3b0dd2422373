package kubeapi

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// newEtcdServing returns the TLS configuration of all members: their
// certificates differ in names only, so that one with every name will do.
func (s *Server) newEtcdServing(caCert, caKey []byte) (*tls.Config, error) {
	ca, err := newAuthority(caCert, caKey)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(caCert)
	issue := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		sans := []string{"localhost", "127.0.0.1"}
		if hello.ServerName != "" {
			sans = append(sans, hello.ServerName)
		}
		cert, err := ca.issue("etcd", sans, s.o.Now())
		return &cert, err
	}
	return &tls.Config{
		GetCertificate: issue,
		ClientAuth:     tls.RequireAndVerifyClientCert,
		ClientCAs:      clients,
		Time:           s.o.Now,
		MinVersion:     tls.VersionTLS12,
	}, nil
}

// serveEtcd speaks etcd's JSON API, as its gRPC gateway serves it on the client
// port, for the member of a node until the client hangs up.
func (s *Server) serveEtcd(c net.Conn, node string) error {
	if _, ok := s.member(node); !ok {
		return errors.New("connect: connection refused")
	}
	s.trustMu.Lock()
	serving := s.etcdServing
	s.trustMu.Unlock()
	config, err := serving()
	if err != nil {
		return err
	}
	l := newSingleListener(tls.Server(c, config))
	hs := &http.Server{
		Handler:           s.etcdHandler(node),
		ConnState:         l.state,
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	_ = hs.Serve(l)
	return nil
}

// member returns the member of a node whose machine lives. kubeadm gives it the name of the node.
func (s *Server) member(node string) (fleet.Member, bool) {
	if s.o.Etcd == nil {
		return fleet.Member{}, false
	}
	for _, m := range s.o.Etcd.Members() {
		if cmp.Or(m.Node, m.Name) == node && m.Healthy {
			return m, true
		}
	}
	return fleet.Member{}, false
}

// etcdHandler serves the calls, each as long as the member lives.
// Source: etcd, api/etcdserverpb/rpc.proto, with proto names and without zero values.
func (s *Server) etcdHandler(node string) http.Handler {
	mux := http.NewServeMux()
	call := func(path string, f func(self fleet.Member, in etcdRequest) (any, error)) {
		// A learner answers nothing else.
		voters := path != "/v3/maintenance/status"
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			self, ok := s.member(node)
			if !ok {
				panic(http.ErrAbortHandler) // it died: no answer
			}
			if voters && self.Learner {
				failEtcd(w, etcdError{9, "etcdserver: rpc not supported for learner"})
				return
			}
			var in etcdRequest
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
				reply(w, http.StatusBadRequest, etcdError{Code: 3, Message: err.Error()})
				return
			}
			out, err := f(self, in)
			if err != nil {
				failEtcd(w, err)
				return
			}
			reply(w, http.StatusOK, out)
		})
	}
	call("/v3/cluster/member/list", func(fleet.Member, etcdRequest) (any, error) {
		return map[string]any{"members": s.etcdMembers()}, nil
	})
	call("/v3/cluster/member/remove", func(_ fleet.Member, in etcdRequest) (any, error) {
		if !s.hasMember(in.ID) {
			return nil, etcdError{5, "etcdserver: member not found"}
		}
		err := s.o.Etcd.Remove(in.ID)
		return map[string]any{"members": s.etcdMembers()}, err
	})
	call("/v3/maintenance/status", func(self fleet.Member, _ etcdRequest) (any, error) {
		return s.etcdStatus(self), nil
	})
	call("/v3/maintenance/transfer-leadership", func(self fleet.Member, in etcdRequest) (any, error) {
		if !self.Leader {
			return nil, etcdError{9, "etcdserver: not leader"}
		}
		if !s.hasMember(in.TargetID) {
			return nil, etcdError{5, "etcdserver: member not found"}
		}
		return map[string]any{}, s.o.Etcd.MoveLeader(in.TargetID)
	})
	return mux
}

// An etcdRequest has the fields of all requests. 64-bit numbers are strings.
type etcdRequest struct {
	ID       uint64 `json:"ID,string"`
	TargetID uint64 `json:"targetID,string"`
}

type etcdMember struct {
	ID         uint64   `json:"ID,string"`
	Name       string   `json:"name,omitempty"` // empty until the member has started
	PeerURLs   []string `json:"peerURLs"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	IsLearner  bool     `json:"isLearner,omitempty"`
}

func (s *Server) etcdMembers() []etcdMember {
	var out []etcdMember
	for _, m := range s.o.Etcd.Members() {
		out = append(out, etcdMember{
			ID: m.ID, Name: m.Name, IsLearner: m.Learner,
			PeerURLs:   []string{"https://" + m.Name + ":2380"},
			ClientURLs: []string{"https://" + m.Name + ":2379"},
		})
	}
	return out
}

func (s *Server) hasMember(id uint64) bool {
	for _, m := range s.o.Etcd.Members() {
		if m.ID == id {
			return true
		}
	}
	return false
}

// etcdStatus is what self says of itself and of who leads.
func (s *Server) etcdStatus(self fleet.Member) any {
	out := struct {
		Header    map[string]string `json:"header"`
		Version   string            `json:"version"`
		Leader    uint64            `json:"leader,omitempty,string"`
		IsLearner bool              `json:"isLearner,omitempty"`
		Errors    []string          `json:"errors,omitempty"`
	}{
		Header:    map[string]string{"member_id": strconv.FormatUint(self.ID, 10)},
		Version:   "3.6.0",
		IsLearner: self.Learner,
	}
	for _, m := range s.o.Etcd.Members() {
		if m.Leader {
			out.Leader = m.ID
		}
	}
	if out.Leader == 0 {
		out.Errors = []string{"etcdserver: no leader"}
	}
	return out
}

// An etcdError is an error as the gateway writes it, with a gRPC code.
type etcdError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e etcdError) Error() string { return e.Message }

func failEtcd(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[etcdError](err)
	switch {
	case ok:
	case fleet.KindOf(err) == fleet.Conflict:
		e = etcdError{9, err.Error()}
	default:
		e = etcdError{14, err.Error()}
	}
	code := map[int]int{5: http.StatusNotFound, 9: http.StatusBadRequest, 14: http.StatusServiceUnavailable}[e.Code]
	reply(w, code, e)
}

// A singleListener gives out one connection, and ends when that has ended.
type singleListener struct {
	conn chan net.Conn
	done chan struct{}
	once sync.Once
	addr net.Addr
}

func newSingleListener(c net.Conn) *singleListener {
	l := &singleListener{conn: make(chan net.Conn, 1), done: make(chan struct{}), addr: c.LocalAddr()}
	l.conn <- c
	return l
}

func (l *singleListener) state(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		_ = l.Close()
	}
}

// Accept implements net.Listener.
func (l *singleListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *singleListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *singleListener) Addr() net.Addr { return l.addr }
