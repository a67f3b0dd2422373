package sops

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

func TestRefusals(t *testing.T) {
	secret := string(read(t, "secret.yaml"))
	change := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("there is no %q", old)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	between := func(from, to, new string) func(string) string {
		return func(s string) string {
			i := strings.Index(s, from)
			j := i + strings.Index(s[i:], to)
			return s[:i] + new + s[j:]
		}
	}
	recipient := strings.TrimPrefix(strings.SplitN(string(read(t, ours)), "\n", 2)[0], "# public key: ")
	for name, c := range map[string]struct {
		file       string // secret.yaml where empty
		as         string // file where empty
		change     func(string) string
		identities []string
		want       string
	}{
		"no identity":       {want: "is encrypted for " + recipient + ", and there is no age identity"},
		"another identity":  {identities: []string{others}, want: "none of the age identities here"},
		"a plain value":     {identities: []string{ours}, change: change("name: login", "name: logout"), want: "was changed after it was encrypted"},
		"a value taken out": {identities: []string{ours}, change: between("    odd: ENC", "sops:", ""), want: "was changed after it was encrypted"},
		"a value moved":     {identities: []string{ours}, change: change("    odd: ENC", "    even: ENC"), want: "stringData.even cannot be decrypted: it was changed, or moved"},
		"a value put in":    {identities: []string{ours}, change: change("    empty: \"\"", "    empty: put in"), want: "stringData.empty is not encrypted and should be"},
		"a number put in":   {identities: []string{ours}, change: change("    empty: \"\"", "    empty: 1"), want: "stringData.empty is not encrypted and should be"},
		"a value cut":       {identities: []string{ours}, change: change("password: ENC[AES256_GCM,data:", "password: ENC[AES256_GCM,data:AAAA"), want: "data.password cannot be decrypted: it was changed"},
		"a value without a tag": {
			identities: []string{ours}, change: between(",tag:", ",type:str", ""), want: "data.password cannot be decrypted: it is not written as sops does",
		},
		"a value not base64":   {identities: []string{ours}, change: change("password: ENC[AES256_GCM,data:", "password: ENC[AES256_GCM,data:!"), want: "it is not written as sops does"},
		"a type":               {identities: []string{ours}, change: change("type:str]", "type:html]"), want: `of type "html"`},
		"the code":             {identities: []string{ours}, change: change("mac: ENC[AES256_GCM,data:", "mac: ENC[AES256_GCM,data:AAAA"), want: "was changed after it was encrypted"},
		"no code":              {identities: []string{ours}, change: between("    mac: ", "    version", "    mac: \"\"\n"), want: "was changed after it was encrypted"},
		"the time":             {identities: []string{ours}, change: change(`lastmodified: "2026`, `lastmodified: "2025`), want: "was changed after it was encrypted"},
		"no time":              {identities: []string{ours}, change: change(`lastmodified: "2026`, `lastmodified: "then`), want: "was changed after it was encrypted"},
		"the rule":             {identities: []string{ours}, change: change(`^(data|stringData)$`, `^stringData$`), want: "was changed after it was encrypted"},
		"another rule":         {identities: []string{ours}, change: change("    mac: ", "    encrypted_suffix: x\n    mac: "), want: "has encrypted_regex, encrypted_suffix, of which there may be one"},
		"no expression":        {identities: []string{ours}, change: change(`^(data|stringData)$`, `^(data`), want: "no regular expression"},
		"the data key":         {identities: []string{ours}, change: between("            -----BEGIN AGE", "            -----END AGE", "            -----BEGIN AGE ENCRYPTED FILE-----\n"), want: "none of the age identities here"},
		"a document put in":    {identities: []string{ours}, change: func(s string) string { return s + "---\napiVersion: v1\nkind: Secret\n" }, want: "is encrypted, and this document of it is not"},
		"a document taken out": {file: "all.yaml", identities: []string{ours}, change: between("\n---\n", "\x00", "\n"), want: "was changed after it was encrypted"},
		"covers values alone":  {file: "maconly.yaml", identities: []string{ours}, change: change("mac_only_encrypted: true", "mac_only_encrypted: false"), want: "was changed after it was encrypted"},
		"chosen by comments":   {file: "comments.yaml", identities: []string{ours}, want: "chooses by comments"},
		"no Secret":            {file: "configmap.yaml", identities: []string{ours}, want: "holds more than Secrets"},
		"groups of keys":       {identities: []string{ours}, change: change("sops:\n", "sops:\n    key_groups: [{}, {}]\n"), want: "split between groups"},
		"not for age":          {identities: []string{ours}, change: between("    age:", "    encrypted_regex", "    pgp: [{fp: x}]\n    kms: [{}]\n"), want: "encrypted for PGP x, AWS KMS, and for no age recipient"},
		"broken metadata":      {identities: []string{ours}, change: between("    age:", "    encrypted_regex", "    age: yes\n"), want: "metadata cannot be read"},
		"variables":            {file: "app.env", as: "clusters/.env", identities: []string{ours}, want: "what variables stand for shows"},
		"a variable taken out": {file: "app.env", identities: []string{ours}, change: between("LINES=", "EMPTY", ""), want: "was changed after it was encrypted"},
		"a variable put in":    {file: "app.env", identities: []string{ours}, change: change("EMPTY=", "EMPTY=x"), want: "EMPTY is not encrypted"},
		"variables of others":  {file: "app.env", identities: []string{others}, want: "none of the age identities here"},
		"variables with PGP":   {file: "app.env", identities: []string{ours}, change: func(s string) string { return strings.ReplaceAll(s, "sops_age", "sops_pgp") }, want: "encrypted for PGP, and for no age recipient"},
		"binary of others":     {file: "token.bin", identities: []string{others}, want: "none of the age identities here"},
	} {
		t.Run(name, func(t *testing.T) {
			file, content := "secret.yaml", secret
			if c.file != "" {
				file, content = c.file, string(read(t, c.file))+"\x00"
			}
			if c.change != nil {
				content = c.change(content)
			}
			if c.as != "" {
				file = c.as
			}
			plain, values, err := decrypter(t, Options{}, c.identities...).Decrypt(t.Context(), file, []byte(strings.TrimRight(content, "\x00")))
			r, ok := errors.AsType[*documents.Refusal](err)
			if !ok {
				t.Fatalf("got %v, want a refusal", err)
			}
			if !strings.Contains(r.Message, c.want) || r.Hint == "" {
				t.Errorf("got %v, want a refusal with a hint that says %q", err, c.want)
			}
			if plain != nil || values != nil {
				t.Errorf("gives content of what it refuses: %q, %q", plain, values)
			}
			for _, s := range []string{"hunter2", "correct horse", "aHVudGVyMg", "AGE-SECRET"} {
				if strings.Contains(err.Error()+r.Hint, s) {
					t.Errorf("shows a value: %v", err)
				}
			}
		})
	}
}

func TestSealed(t *testing.T) {
	for name, c := range map[string]struct {
		file       string
		identities []string
		sealed     bool
	}{
		"a Secret without an identity":     {file: "secret.yaml", sealed: true},
		"a Secret for others":              {file: "secret.yaml", identities: []string{others}, sealed: true},
		"a Secret for us":                  {file: "secret.yaml", identities: []string{ours}},
		"what may be anything":             {file: "all.yaml"},
		"what a name may be made from":     {file: "suffix.yaml"},
		"variables that may go into names": {file: "app.env"},
		"binary":                           {file: "token.bin"},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			d := decrypter(t, Options{Sealed: func(file, why string) { told = append(told, file+": "+why) }}, c.identities...)
			plain, _, err := d.Decrypt(t.Context(), c.file, read(t, c.file))
			if !c.sealed {
				if (err == nil) != (c.identities != nil) || len(told) > 0 {
					t.Errorf("got %v, told %q", err, told)
				}
				return
			}
			if err != nil || len(told) != 1 || !strings.HasPrefix(told[0], "secret.yaml: the file is encrypted for age1") {
				t.Fatalf("got %v, told %q", err, told)
			}
			var got struct {
				Metadata         struct{ Name string }
				Data, StringData map[string]string
				Sops             any
			}
			dec := yaml.NewDecoder(strings.NewReader(strings.Replace(string(plain), "stringData", "stringdata", 1)))
			if err := dec.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if got.Metadata.Name != "login" || got.Sops != nil {
				t.Errorf("got %s", plain)
			}
			if diff := cmp.Diff(map[string]string{"password": "REDACTED"}, got.Data); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"clouds.yaml": "REDACTED", "empty": "", "odd": "REDACTED"}, got.StringData); diff != "" {
				t.Error(diff)
			}
		})
	}
}
