package inmemory

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestK3sCluster: three servers and an agent become a cluster.
func TestK3sCluster(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		first := l.bootK3s("s-0", l.firstConfig())
		l.pass(time.Minute)
		l.wantConsole(first, "")
		l.agentToken(nil)
		second, agent := l.bootK3s("s-1", l.serverConfig()), l.bootK3s("a-0", l.agentConfig())
		l.pass(10 * time.Second)
		l.wantNames("before the leader made it a voter", "s-0", "s-1 learner")
		l.wantConsole(second, "this server has not yet been promoted from learner to voting member")
		if n := l.node("s-1"); n != nil {
			t.Errorf("a server that does not vote has the Node %s", n.Name)
		}
		l.pass(20 * time.Second)
		l.wantNames("once it is one", "s-0", "s-1")
		l.wantConsole(second, "")
		l.wantConsole(agent, "")
		for _, name := range []string{"s-0", "s-1", "a-0"} {
			n := l.node(name)
			if n == nil || l.ready(name) != "True" || n.Status.NodeInfo.KubeletVersion != l.release || !strings.HasPrefix(n.Spec.ProviderID, "inmemory://") {
				t.Fatalf("Node %s: %v", name, n)
			}
			server := name != "a-0"
			member := n.Annotations[l.program.annotation("node-name")]
			if regexp.MustCompile("^"+name+"-[0-9a-f]{8}$").MatchString(member) != server {
				t.Errorf("Node %s names the member %q", name, member)
			}
			if is := n.Labels[etcdLabel] == "true" && n.Labels[controlPlaneLabel] == "true"; is != server {
				t.Errorf("Node %s has the labels %v", name, n.Labels)
			}
			if got := voter(n); (got == "True MemberNotLearner") != server {
				t.Errorf("Node %s tells %q of its member", name, got)
			}
			_, pod := l.cluster().api.Get(podKind, system, "etcd-"+name)
			if pod != (server && l.program.apart) {
				t.Errorf("there is a pod etcd-%s: %v", name, pod)
			}
		}
		if got := l.node("a-0").Labels["example.org/pool"]; got != "md" {
			t.Errorf("the agent's label is %q, want md", got)
		}
	})
}

// TestK3sWrong: user data of which no cluster, no server and no agent comes.
func TestK3sWrong(t *testing.T) {
	edit := func(old, new string) func(*k3sLab, *config) {
		return func(l *k3sLab, c *config) {
			from := strings.NewReplacer("HOST", l.network.Endpoint.Host, "URL", l.joinURL()).Replace(old)
			if !strings.Contains(c.files[l.program.configFile()], from) {
				l.t.Fatalf("no %q in %s", from, c.files[l.program.configFile()])
			}
			c.replace(l.program.configFile(), from, new)
		}
	}
	add := func(line string) func(*k3sLab, *config) {
		return func(l *k3sLab, c *config) { c.files[l.program.configFile()] += "\n" + line }
	}
	for name, test := range map[string]struct {
		of     string
		only   string // a program
		change func(*k3sLab, *config)
		want   string
	}{
		"no YAML":     {of: "first", change: add(" : ["), want: "config.yaml"},
		"bad version": {of: "first", change: func(l *k3sLab, c *config) { c.commands[0] = strings.ReplaceAll(c.commands[0], l.release, "1.34.1") }, want: "The requested URL returned error: 404"},
		"no authority": {of: "first", change: func(l *k3sLab, c *config) {
			delete(c.files, "/var/lib/rancher/"+l.program.name+"/server/tls/client-ca.key")
		}, want: "client-ca.key is not there"},
		"SQLite":          {of: "first", only: "k3s", change: edit("cluster-init: true", ""), want: "SQLite"},
		"never started":   {of: "first", only: "rke2", change: func(_ *k3sLab, c *config) { c.commands = c.commands[:1] }, want: "no command starts rke2-server"},
		"other unit":      {of: "first", only: "rke2", change: func(_ *k3sLab, c *config) { c.commands[1] = "systemctl enable --now rke2-agent" }, want: "Unit rke2-agent.service not found"},
		"label":           {of: "first", change: add("node-label: [node-role.kubernetes.io/x=y]"), want: "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/x]"},
		"second cluster":  {of: "first again", want: "made a second cluster of its own"},
		"http":            {of: "server", change: edit("server: https", "server: http"), want: "only https:// URLs are supported, invalid scheme: http://"},
		"no token":        {of: "server", change: edit("token:", "not-a-flag:"), want: "_TOKEN is required to join a cluster"},
		"wrong token":     {of: "server", change: edit(serverPassword, "another"), want: "/server-bootstrap: 401 Unauthorized"},
		"short hash":      {of: "server", change: func(l *k3sLab, c *config) { edit(l.k10(""), "K10abcd::")(l, c) }, want: "invalid token CA hash length"},
		"other authority": {of: "server", change: func(l *k3sLab, c *config) { edit(l.k10("")[:67], "K10"+strings.Repeat("0", 64))(l, c) }, want: "token CA hash does not match the Cluster CA certificate hash"},
		"bootstrap token": {of: "server", change: edit("server:"+serverPassword, testToken), want: "/server-bootstrap: 403 Forbidden"},
		"wrong host":      {of: "server", change: edit("https://HOST", "https://127.200.0.1"), want: "connect: connection refused"},
		"wrong port":      {of: "server", only: "k3s", change: edit("URL", "https://127.0.0.1:9345"), want: "connect: connection refused"},
		"API port":        {of: "server", only: "rke2", change: edit(":9345", ":6443"), want: "failed to get CA certs: https://"},
		"other network":   {of: "server", change: add("cluster-cidr: 10.1.0.0/16"), want: "critical configuration value mismatch between servers: cluster-cidr"},
		"own authority": {of: "server", change: func(l *k3sLab, c *config) {
			cert, key := newTestCA(l.t, time.Hour)
			c.file("/var/lib/rancher/"+l.program.name+"/server/tls/server-ca.crt", "0640", cert)
			c.file("/var/lib/rancher/"+l.program.name+"/server/tls/server-ca.key", "0600", key)
		}, want: "server-ca.crt newer than datastore and could cause a cluster outage"},
		"agent without server":  {of: "agent", change: edit("server:", "not-a-flag:"), want: "--server is required"},
		"agent without token":   {of: "agent", change: edit("token:", "not-a-flag:"), want: "--token is required"},
		"unknown agent token":   {of: "agent", change: edit(testToken, "abcdef.ffffffffffffffff"), want: "/config: 401 Unauthorized"},
		"agent by server token": {of: "agent", change: edit(testToken, "server:"+serverPassword), want: ""},
		"unknown flag":          {of: "agent", change: add("etcd-snapshots: 7"), want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
				if test.only != "" && test.only != l.program.name {
					return
				}
				var c *config
				if test.of == "first" {
					c = l.firstConfig()
				} else {
					l.servers(1)
					l.agentToken(nil)
					c = map[string]func() *config{"first again": l.firstConfig, "server": l.serverConfig, "agent": l.agentConfig}[test.of]()
				}
				if test.change != nil {
					test.change(l, c)
				}
				v := l.bootK3s("x", c)
				l.pass(time.Minute)
				l.wantConsole(v, test.want)
				if got := l.cluster() != nil && l.ready("x") == "True"; got != (test.want == "") {
					t.Errorf("it is a Node: %v", got)
				}
			})
		})
	}
}

// TestK3sExpiredToken: an agent joins with a token that lets it in, and waits without one.
func TestK3sExpiredToken(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		l.servers(1)
		l.agentToken(func(s *corev1.Secret) {
			s.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
		})
		v := l.bootK3s("a-0", l.agentConfig())
		l.pass(time.Minute)
		l.wantConsole(v, "401 Unauthorized")
		l.agentToken(nil)
		l.pass(time.Minute)
		l.wantConsole(v, "")
		if got := l.ready("a-0"); got != "True" {
			t.Errorf("a-0 is ready: %s", got)
		}
	})
}

// TestSupervisorLetsIn: who is answered what.
func TestSupervisorLetsIn(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		l.servers(1)
		l.agentToken(nil)
		for _, test := range []struct {
			path string
			as   func(*http.Request)
			want int
		}{
			{"/cacerts", nil, 200},
			{"/ping", nil, 200},
			{"/db/info", nil, 403},
			{"/db/info", func(r *http.Request) { r.SetBasicAuth("server", serverPassword) }, 200},
			{"/db/info", func(r *http.Request) { r.SetBasicAuth("server", "") }, 401},
			{"/db/info", func(r *http.Request) { r.SetBasicAuth("server", "wrong") }, 401},
			{"/db/info", func(r *http.Request) { r.SetBasicAuth("node", serverPassword) }, 403},
			{"/db/info", func(r *http.Request) { r.SetBasicAuth("admin", serverPassword) }, 401},
			{"/db/info", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken) }, 403},
			{"/db/info", func(r *http.Request) { r.Header.Set("Authorization", "Bearer abcdef.ffffffffffffffff") }, 401},
			{"/v1-" + l.program.name + "/readyz", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken) }, 200},
		} {
			if code, body := l.get(l.joinURL()+test.path, test.as); code != test.want {
				t.Errorf("%s = %d %s, want %d", test.path, code, body, test.want)
			}
		}
		_, ca := l.get(l.joinURL()+"/cacerts", nil)
		if l.k10("") != "K10"+authorityHash(ca)+"::" {
			t.Error("what it serves is not what tokens have the hash of")
		}
		if l.program.apart {
			code, _ := l.get("https://"+address(l.network.Endpoint.Host, l.network.Endpoint.Port)+"/db/info", func(r *http.Request) { r.SetBasicAuth("server", serverPassword) })
			if code == http.StatusOK {
				t.Error("the API server's port tells the members, too")
			}
		}
	})
}

// TestK3sEndpoint: what user data says of where the cluster answers.
func TestK3sEndpoint(t *testing.T) {
	for _, p := range programs() {
		l := newK3sLab(t, CloudOptions{}, p)
		want := address(l.network.Endpoint.Host, l.network.Endpoint.Port)
		for join, c := range map[bool]*config{false: l.firstConfig(), true: l.serverConfig()} {
			got, joins, err := BootEndpoint(VMSpec{Name: "x", Version: l.release, UserData: c.bytes()})
			if got != want || joins != join || err != nil {
				t.Errorf("%s: endpoint = %s, joins %v, %v, want %s, %v", p.name, got, joins, err, want, join)
			}
		}
	}
}

// TestStrangeClient: the authority of the API server's certificate lets in no clients.
func TestStrangeClient(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		l.servers(1)
		if code, body := l.get(l.nodeURL("s-0"), nil); code != http.StatusOK {
			t.Errorf("an administrator is told %d %s", code, body)
		}
		l.client = l.pki.administrator(t, l.dial)
		if code, _ := l.get(l.nodeURL("s-0"), nil); code != http.StatusUnauthorized {
			t.Errorf("a client of the servers' authority is told %d, want 401", code)
		}
	})
}
