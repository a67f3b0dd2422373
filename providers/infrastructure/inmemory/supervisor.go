package inmemory

import (
	"cmp"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A supervisor is what the servers of K3s and RKE2 serve beside Kubernetes' API, to those
// that join.
// Source: k3s, pkg/server/handlers/router.go, pkg/server/auth and pkg/etcd.
type supervisor struct {
	cloud   *Cloud
	cluster *cluster
}

var _ http.Handler = supervisor{}

// ServeHTTP implements http.Handler.
func (s supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.answer(r)
	w.Header().Set("Content-Type", a.kind)
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the client is gone: the error has no reader
}

// An answer is one of HTTP's.
type answer struct {
	code int
	kind string // of content
	body []byte
}

func plain(body []byte) answer { return answer{http.StatusOK, "text/plain", body} }

func encoded(code int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // types of this file and of the API always marshal
	}
	return answer{code, "application/json", body}
}

// refusal is a Status.
func refusal(code int, message string) answer {
	return encoded(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Message: message,
	})
}

func (s supervisor) answer(r *http.Request) answer {
	s.cloud.lock()
	defer s.cloud.unlock()
	k := s.cluster
	switch r.URL.Path {
	case "/cacerts":
		return plain(k.pki.ca.cert)
	case "/ping":
		return plain([]byte("pong"))
	case "/db/info":
		if a, ok := s.permits(r, serverRole); !ok {
			return a
		}
		return s.info(r)
	case "/v1-" + k.program.name + "/readyz":
		if a, ok := s.permits(r, agentRole); !ok {
			return a
		}
		if !k.available {
			return refusal(http.StatusServiceUnavailable, "runtime core not ready")
		}
		return plain([]byte("ok"))
	}
	if a, ok := s.permits(r, serverRole); !ok {
		return a
	}
	return refusal(http.StatusNotFound, "this cloud serves nothing at "+r.URL.Path)
}

// permits reports whether the client has one of roles, or the answer for clients that have
// none.
func (s supervisor) permits(r *http.Request, roles ...supervisorRole) (answer, bool) {
	var t joinToken
	user, password, basic := r.BasicAuth()
	bearer, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case basic:
		t.password = password
	case bears:
		t.id, t.secret, _ = strings.Cut(bearer, ".")
	default:
		return refusal(http.StatusForbidden, "forbidden"), false
	}
	as := map[string]supervisorRole{"server": serverRole, "node": agentRole}[user]
	switch role := s.cluster.role(t, as); {
	case role == "":
		return refusal(http.StatusUnauthorized, "not authorized"), false
	case !slices.Contains(roles, role):
		return refusal(http.StatusForbidden, "forbidden"), false
	}
	return answer{}, true
}

// A peer is a member of etcd as encoding/json writes it: the id is a number.
// Source: etcd, Member in api/etcdserverpb/rpc.proto.
type peer struct {
	ID         uint64   `json:"ID,omitempty"`
	Name       string   `json:"name,omitempty"`
	PeerURLs   []string `json:"peerURLs,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	IsLearner  bool     `json:"isLearner,omitempty"`
}

// info tells the members.
func (s supervisor) info(r *http.Request) answer {
	k := s.cluster
	switch {
	case r.Method != http.MethodGet:
		return refusal(http.StatusMethodNotAllowed, "method not allowed")
	case !k.quorum():
		return refusal(http.StatusInternalServerError, "failed to get etcd MemberList: context deadline exceeded")
	case take(&s.cloud.faults.FailMembers):
		return refusal(http.StatusInternalServerError, "failed to get etcd MemberList: etcdserver: rpc not supported for learner")
	}
	out := struct {
		Members []peer `json:"members"`
	}{}
	for _, m := range k.members {
		at := m.vm.Addresses[0]
		p := peer{ID: m.ID, IsLearner: m.Learner, PeerURLs: []string{"https://" + net.JoinHostPort(at, "2380")}}
		if m.named {
			p.Name, p.ClientURLs = m.Name, []string{"https://" + net.JoinHostPort(at, "2379")}
		}
		out.Members = append(out.Members, p)
	}
	slices.SortFunc(out.Members, func(a, b peer) int { return cmp.Compare(a.ID, b.ID) })
	return encoded(http.StatusOK, out)
}
