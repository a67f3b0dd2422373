package signature

import (
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"

	"fairlead.dev/fleet"
)

// named is a trusted key with its names, each as fleet.Person has it: those of all its lines and
// identities. Principals that are separated by commas are names of one key.
type named struct {
	key   string
	names []string
}

// named returns the trusted keys.
func (t *Trust) named() []named {
	var out []named
	add := func(key string, names ...string) {
		i := slices.IndexFunc(out, func(n named) bool { return n.key == key })
		if i < 0 {
			i, out = len(out), append(out, named{key: key})
		}
		for _, name := range names {
			if name = fleet.Person(name); name != "" && !slices.Contains(out[i].names, name) {
				out[i].names = append(out[i].names, name)
			}
		}
	}
	for _, k := range t.ssh {
		add(sshName(k.Marshal()), append(strings.Split(k.who, ","), k.who)...)
	}
	for _, e := range t.pgp {
		for _, identity := range e.Identities {
			add(pgpName(e), identity.Name)
		}
	}
	return out
}

func sshName(key []byte) string { return "ssh " + string(key) }

func pgpName(e *openpgp.Entity) string { return "pgp " + string(e.PrimaryKey.Fingerprint) }

// Impersonates reports whether a trusted key is called after a person, as fleet.Person has it, and
// the key that made the armoured signature is not.
func (t *Trust) Impersonates(person, armoured string) bool {
	made := t.madeBy(armoured)
	known := false
	for _, n := range t.named() {
		if slices.Contains(n.names, person) {
			known = true
			if slices.Contains(made, n.key) {
				return false
			}
		}
	}
	return known
}

// People returns the names of the person whose key made the armoured signature, sorted, each as
// fleet.Person has it. Keys that share a name are of one person, and so are names that share a key.
func (t *Trust) People(armoured string) []string {
	made, keys := t.madeBy(armoured), t.named()
	var names []string
	for grows := true; grows; {
		grows = false
		keys = slices.DeleteFunc(keys, func(n named) bool {
			if !slices.Contains(made, n.key) && !slices.ContainsFunc(n.names, func(name string) bool { return slices.Contains(names, name) }) {
				return false
			}
			names, grows = append(names, n.names...), true
			return true
		})
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// madeBy returns the trusted keys, as named has them, that may have made the armoured signature.
func (t *Trust) madeBy(armoured string) []string {
	if s, err := sshsig.Unarmor([]byte(armoured)); err == nil {
		return []string{sshName(s.PublicKey.Marshal())}
	}
	var out []string
	for _, k := range t.issuers(armoured) {
		out = append(out, pgpName(k.Entity))
	}
	return out
}

// issuers returns the trusted keys of OpenPGP that may have made the armoured signature.
func (t *Trust) issuers(armoured string) []openpgp.Key {
	block, err := armor.Decode(strings.NewReader(armoured))
	if err != nil {
		return nil
	}
	p, err := packet.Read(block.Body)
	s, ok := p.(*packet.Signature)
	if err != nil || !ok || s.IssuerKeyId == nil {
		return nil
	}
	return t.pgp.KeysById(*s.IssuerKeyId)
}
