package host

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

//go:embed names.sh
var names string

//go:embed look.sh
var look string

//go:embed claim.sh
var claim string

//go:embed run.sh
var run string

//go:embed delete.sh
var remove string

//go:embed release.sh
var release string

//go:embed balance.sh
var balance string

//go:embed notes.sh
var notes string

// What Take answers.
const (
	Taken   = "taken"   // another fleet has the host
	Full    = "full"    // there is no room on its disk
	Slow    = "slow"    // it took longer than 15 seconds, and was given up
	Claimed = "claimed" // the host is ours, and the user data is being run

	Closed     = "closed"     // a port that firewalld blocks
	Restarting = "restarting" // it was released just now, and is about to restart
)

// A Query is a script that looks at a host and changes nothing. Only this package
// makes one, so that who is given queries alone cannot change a host.
type Query struct{ text string }

// Script returns the text of q, for a shell.
func (q Query) Script() string { return q.text }

// A Change is a script that changes a host.
type Change struct{ text string }

// Script returns the text of c, for a shell.
func (c Change) Script() string { return c.text }

// Look returns the query that Parse reads the answer of.
func Look() Query { return Query{names + look} }

// A Payload is what a machine boots with, by name of file below its claim.
type Payload struct {
	UserData []byte
	Steps    []byte  // the script that carries it out, which may read the others
	Ports    []int32 // that others have to reach
	More     map[string][]byte
}

// Take returns the script that claims a host with c and starts p on it.
func Take(c *Claim, p Payload) Change {
	var b strings.Builder
	id := header(&b, c.ID)
	fmt.Fprintf(&b, "ports='%s'\n", strings.Trim(fmt.Sprint(p.Ports), "[]"))
	b.WriteString(names + "files() {\n")
	put := func(name string, content []byte) {
		fmt.Fprintf(&b, "put \"$M\"/%s %s", quote(name), heredoc(content))
	}
	put("claim", marshal(c))
	put("user-data", p.UserData)
	put("steps.sh", append([]byte(id+names), p.Steps...))
	put("run.sh", []byte(id+names+run))
	for _, name := range slices.Sorted(maps.Keys(p.More)) {
		put(name, p.More[name])
	}
	b.WriteString("}\n" + claim)
	return Change{b.String()}
}

// Resume returns the script that starts what Take laid out, where that was
// interrupted.
func Resume(id string) Change {
	var b strings.Builder
	header(&b, id)
	b.WriteString(names + "claimed && start \"run-$id\" \"$M/run.sh\"\n")
	return Change{b.String()}
}

// Release returns the script that begins to clean the host of the claim with id, and
// to restart it then if restart says so. It may be repeated; a host that has another
// claim, or none, is left alone.
func Release(id string, restart bool) Change {
	var b strings.Builder
	own := header(&b, id) + "restart=\n"
	if restart {
		own = header(&b, id) + "restart=yes\n"
	}
	b.WriteString(names)
	fmt.Fprintf(&b, "release() {\nbase64 -d >\"$S\" %s}\n", heredoc([]byte(own+names+release)))
	b.WriteString(remove)
	return Change{b.String()}
}

// Balance returns the script that has the host of the claim with id run HAProxy with
// config. What runs already goes over to it without a break.
func Balance(id string, config []byte) Change {
	var b strings.Builder
	header(&b, id)
	fmt.Fprintf(&b, "sum=%s\n%sconfig() {\nbase64 -d %s}\n", Sum(config), names, heredoc(config))
	b.WriteString(balance)
	return Change{b.String()}
}

// Sum identifies the configuration of a load balancer.
func Sum(config []byte) string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:12])
}

// Note returns the script that writes notes of the claims in put, and removes those
// called as drop says.
func Note(put []Claim, drop []string) Change {
	var b strings.Builder
	b.WriteString(names + notes)
	for i := range put {
		fmt.Fprintf(&b, "put %s %s", put[i].NoteName(), heredoc(marshal(&put[i])))
	}
	for _, name := range drop {
		fmt.Fprintf(&b, "drop %s\n", quote(name))
	}
	return Change{b.String()}
}

var plainID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// header writes and returns the line that gives a script its id.
func header(b *strings.Builder, id string) string {
	if !plainID.MatchString(id) {
		id = "none" // a damaged claim: no such directory is there
	}
	line := "id=" + id + "\n"
	b.WriteString(line)
	return line
}

func marshal(c *Claim) []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("host: cannot marshal a claim: %v", err)) // of strings and times
	}
	return append(b, '\n')
}

// heredoc returns content, in base64, as a here-document and the end of its line.
func heredoc(content []byte) string {
	const width = 76
	text := base64.StdEncoding.EncodeToString(content)
	var b strings.Builder
	b.WriteString("<<'END'\n")
	for len(text) > width {
		b.WriteString(text[:width] + "\n")
		text = text[width:]
	}
	b.WriteString(text + "\nEND\n")
	return b.String()
}

// quote returns s as one word of shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
