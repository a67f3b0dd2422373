// Package git follows a fleet in a Git repository and writes branches of it. It alone
// imports go-git, and uses that at the level of objects: bare, in memory, one commit deep.
// It has no work tree and writes nothing to disk.
//
//	repo, err := git.New(git.Options{URL: "https://git.example.com/fleet.git", Ref: "main"})
//	rev, err := repo.Resolve(ctx)      // one ls-remote
//	tree, err := repo.Fetch(ctx, rev)  // only what changed
//	status := repo.Branch("fairlead/status", git.BranchOptions{})
//
// Whatever a server or a repository does, an operation ends. Its time, the bytes that it
// receives and the memory that they unfold to are bounded.
package git

import (
	"log/slog"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// Options describe one repository and how to reach it.
type Options struct {
	// URL is https://, http://, ssh://, git@host:path, file:// or a local path.
	// A user and password in it are used where Auth is zero, and never shown.
	URL string
	// Ref is what to follow: a branch, a tag, a full ref name, or a full commit hash; or,
	// for the highest of the tags that match, "semver:" and a range of versions, or a tag
	// with *. Empty is the repository's default branch.
	Ref string
	// Path is the folder of the repository that is the root of trees. Empty is all of the
	// repository. Files elsewhere are not fetched where the server can leave them out, and
	// do not count for budgets.
	Path string

	Auth Auth
	// Proxy is the URL of the proxy for http(s), which may have a user and a password:
	// http://, https:// or socks5://. Zero: the proxy in the environment.
	Proxy fleet.Secret
	// CABundle is PEM of CA certificates to trust, in addition to the system's.
	CABundle []byte
	// KnownHosts is the content of a known_hosts file. ssh requires it.
	KnownHosts []byte
	// Address is the host and port that ssh connects to, if not those of URL.
	Address string

	// Refresh, if not nil, sets Auth, Proxy, CABundle, KnownHosts and Address to their current
	// values. New and each connection call it, one at a time, so that rotated credentials
	// are used without a restart.
	Refresh func(*Options) error

	// Verify, if not nil, is called with each commit to be followed, or with its tag where
	// Ref is a tag: with the signed content, and the armoured signature, which may be
	// empty. It returns who signed. An error without a kind says why the commit must not be
	// followed. An error with a kind may pass. Branches that Fairlead writes are not
	// verified.
	Verify func(content []byte, signature string) (who string, err error)
	// Until, if not nil, returns when the trusted key expires that made the armoured
	// signature; zero: never.
	Until func(signature string) (time.Time, error)
	// TrustMerges lets the signature of a merge count for all commits that it brings in.
	TrustMerges bool

	Budget Budget
	Log    *slog.Logger // nil discards
}

// Auth is a credential. For http(s) it is Bearer, Token, App, or Username and Password; for
// https a client certificate, alone or in addition; for ssh it is Key or Agent.
type Auth struct {
	Username   string
	Password   fleet.Secret
	Token      fleet.Secret // sent as the password of Username, or of "x-access-token"
	Bearer     fleet.Secret // sent as a bearer; or like Token where there is a Username, or the server accepts no bearer
	Key        fleet.Secret // private key, PEM or OpenSSH
	Passphrase fleet.Secret // of Key
	Agent      string       // socket of an ssh-agent, in place of Key

	App App // a GitHub App instead of all others; for https

	Certificate    []byte       // of the client, with its chain, PEM
	CertificateKey fleet.Secret // its private key, PEM
}

func (a Auth) isZero() bool {
	return a.Username == "" && a.Password.IsZero() && a.Token.IsZero() && a.Bearer.IsZero() && a.Key.IsZero() && a.Agent == "" &&
		len(a.Certificate) == 0 && a.CertificateKey.IsZero() && a.App.IsZero()
}

// A Budget bounds one operation and one revision. A field that is 0 has its default.
type Budget struct {
	Tree        tree.Budget
	Received    int64         // bytes of one answer: 128 MiB
	Unpacked    int64         // memory that one pack may unfold to, in bytes: one and a half times Tree.Bytes
	Objects     int           // objects in one pack: 250,000
	ListTimeout time.Duration // for listing refs: 30 s
	Timeout     time.Duration // for a fetch or a push: 2 min
}

func (b Budget) withDefaults() Budget {
	b.Tree = b.Tree.WithDefaults()
	if b.Received == 0 {
		b.Received = 128 << 20
	}
	if b.Unpacked == 0 {
		b.Unpacked = b.Tree.Bytes / 2 * 3
	}
	if b.Objects == 0 {
		b.Objects = 250_000
	}
	if b.ListTimeout == 0 {
		b.ListTimeout = 30 * time.Second
	}
	if b.Timeout == 0 {
		b.Timeout = 2 * time.Minute
	}
	return b
}
