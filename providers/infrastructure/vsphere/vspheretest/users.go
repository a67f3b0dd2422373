package vspheretest

import (
	"net/http"
	"strings"

	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// A user is an account that may log in.
type user struct {
	password string
	admin    bool
	grants   []Grant
}

// AddUser adds an account with the given grants alone. The same name again replaces both.
func (v *VCenter) AddUser(name, password string, grants ...Grant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users[name] = &user{password: password, grants: grants}
}

// SetPassword gives a user another password. Sessions that there are go on, as those of a
// vCenter do.
func (v *VCenter) SetPassword(name, password string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users[name].password = password
}

// validLogin is asked by vcsim, for SOAP and for REST.
func (v *VCenter) validLogin(l *types.Login) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	u := v.users[l.UserName]
	return u != nil && u.password == l.Password
}

// Sessions are how many there are of SOAP for each user.
func (v *VCenter) Sessions() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make(map[string]int)
	for _, u := range v.sessions {
		out[u]++
	}
	return out
}

// EndSessions ends the sessions of a user as an administrator does, or an idle time-out,
// those of REST too. "" ends all.
func (v *VCenter) EndSessions(name string) {
	v.mu.Lock()
	var keys []string
	for k, u := range v.sessions {
		if name == "" || u == name {
			keys = append(keys, k)
			delete(v.sessions, k)
		}
	}
	for id, u := range v.tokens {
		if name == "" || u == name {
			v.tokens[id] = ended
		}
	}
	v.mu.Unlock()
	ctx := v.Context()
	m := v.Registry().SessionManager()
	for _, k := range keys {
		m.TerminateSession(ctx, &types.TerminateSession{SessionId: []string{k}})
		v.cancelWaits(k)
	}
}

// ended stands for the user of a REST session that ended.
const ended = "\x00ended"

// knows notes a session; this package's own has no user.
func (v *VCenter) knows(s *vcsim.Session) {
	if s.UserName == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sessions[s.Key] = s.UserName
}

// forgets notes that a session logged out.
func (v *VCenter) forgets(key string) {
	v.mu.Lock()
	delete(v.sessions, key)
	v.mu.Unlock()
	v.cancelWaits(key)
}

// waiting notes that a session waits for updates. It reports whether it may.
func (v *VCenter) waiting(key string, c *vcsim.PropertyCollector) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.closed:
		return false
	default:
	}
	if _, ok := v.sessions[key]; !ok {
		return false
	}
	v.collectors[c.Self] = &waiter{key: key, collector: c}
	return true
}

// A waiter is a collector that a session waited with.
type waiter struct {
	key       string
	collector *vcsim.PropertyCollector
}

// cancelWaits ends what a session waits for; "" means all of them.
func (v *VCenter) cancelWaits(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ref, w := range v.collectors {
		if key == "" || w.key == key {
			w.collector.CancelWaitForUpdates(&types.CancelWaitForUpdates{})
			delete(v.collectors, ref)
		}
	}
}

// admit answers requests of REST whose session ended, and notes who begins one. It
// reports whether it answered.
func (v *VCenter) admit(w http.ResponseWriter, r *http.Request, c Call) bool {
	const header = "vmware-api-session-id"
	id := r.Header.Get(header)
	if k, err := r.Cookie(header); id == "" && err == nil {
		id = k.Value
	}
	v.mu.Lock()
	is := v.tokens[id]
	v.mu.Unlock()
	begins := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/session") && !strings.Contains(c.Method, "action=")
	if id != "" && is == ended && !begins {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	if name, _, ok := r.BasicAuth(); ok && begins {
		v.model.Service.ServeMux.ServeHTTP(w, r)
		if out := w.(*recorder); out.code == http.StatusOK {
			token := strings.Trim(strings.TrimPrefix(out.body.String(), `{"value":`), "\"}\n ")
			v.mu.Lock()
			v.tokens[token] = name
			v.mu.Unlock()
		}
		return true
	}
	return false
}
