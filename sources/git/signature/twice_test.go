package signature

import "testing"

// A key that is in two files, or in two lines, is trusted if one line trusts it.
func TestKeyInTwoFiles(t *testing.T) {
	line, sign := keyPair(t, 1)
	const content = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nx\n"
	armoured, err := sign([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	ended := `expiry-time="20200101Z" ` + line
	for name, files := range map[string]map[string][]byte{
		"the first file":  {"a": []byte(line), "b": []byte(ended)},
		"the second file": {"a": []byte(ended), "b": []byte(line)},
		"two lines":       {"a": []byte(ended + "\n" + line + "\n")},
	} {
		trust, err := NewTrust(files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trust.Verify([]byte(content), armoured); err != nil {
			t.Errorf("%s trusts the key: %v", name, err)
		}
	}
	trust, err := NewTrust(map[string][]byte{"a": []byte(ended), "b": []byte(ended)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Verify([]byte(content), armoured); err == nil {
		t.Error("a key that has expired in all files is trusted")
	}
}
