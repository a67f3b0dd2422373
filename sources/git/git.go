// Package git follows a fleet in a Git repository and writes branches of it.
// It is the only importer of go-git, and uses it at the level of objects: bare,
// in memory, one commit deep. There is no worktree and nothing on disk.
//
//	repo, err := git.New(git.Options{URL: "https://git.example.com/fleet.git", Ref: "main"})
//	rev, err := repo.Resolve(ctx)      // one ls-remote
//	tree, err := repo.Fetch(ctx, rev)  // only what changed
//	status := repo.Branch("fairlead/status", git.BranchOptions{})
//
// Whatever a server or a repository does, an operation ends: its time, the
// bytes that it may receive and the memory that they may unfold to are bounded.
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
	// Ref is what to follow: a branch, a tag, a full ref name, or a commit in
	// full; "semver:" and a range of versions, or a tag with * in it, for the highest
	// of the tags that match. Empty is the repository's default branch.
	Ref string
	// Path is the folder of the repository that trees begin at; empty is all of it.
	// Files elsewhere are not fetched where the server can leave them out, and count
	// for nothing.
	Path string

	Auth Auth
	// Proxy is the URL of the proxy that http(s) goes through, which may hold a user and
	// a password: http://, https:// or socks5://. Zero: the one that the environment names.
	Proxy fleet.Secret
	// CABundle is PEM of authorities to trust beside the system's.
	CABundle []byte
	// KnownHosts is the content of a known_hosts file. ssh requires it.
	KnownHosts []byte

	// Refresh, if not nil, sets Auth, Proxy, CABundle and KnownHosts to what they are
	// now. It is called by New and before each connection, one call at a time, so
	// that what was rotated is used without a restart.
	Refresh func(*Options) error

	// Verify, if not nil, is given each commit that is to be followed, or the tag of
	// that name where Ref is a tag, as it was signed, and its signature in armour, which
	// may be empty. It returns who signed it, or why it must not be followed, where the
	// error has no kind; one that has may be gone with the next try. Branches are not
	// verified.
	Verify func(content []byte, signature string) (who string, err error)
	// TrustMerges makes who signs a merge stand for all that it brings in: the commits
	// of the other side need no signature.
	TrustMerges bool

	Budget Budget
	Log    *slog.Logger // nil discards
}

// Auth is a credential. For http(s) it is Bearer, Token, App, or Username and Password,
// and for https a client certificate, alone or beside them; for ssh it is Key.
type Auth struct {
	Username   string
	Password   fleet.Secret
	Token      fleet.Secret // sent as the password of Username, or of "x-access-token"
	Bearer     fleet.Secret // sent as a bearer; as Token is where there is a Username, or the server takes no bearer
	Key        fleet.Secret // private key, PEM or OpenSSH
	Passphrase fleet.Secret // of Key

	App App // of GitHub, in place of all these; over https

	Certificate    []byte       // of the client, with its chain, PEM
	CertificateKey fleet.Secret // its private key, PEM
}

func (a Auth) isZero() bool {
	return a.Username == "" && a.Password.IsZero() && a.Token.IsZero() && a.Bearer.IsZero() && a.Key.IsZero() &&
		len(a.Certificate) == 0 && a.CertificateKey.IsZero() && a.App.IsZero()
}

// A Budget bounds what one operation may take and one revision may hold. A
// field that is 0 takes its default.
type Budget struct {
	Tree        tree.Budget
	Received    int64         // bytes of one answer: 128 MiB
	Unpacked    int64         // bytes of memory that one pack may unfold to: one and a half times Tree.Bytes
	Objects     int           // objects in one pack: 250,000
	ListTimeout time.Duration // of asking for the refs: 30 s
	Timeout     time.Duration // of a fetch or a push: 2 min
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
