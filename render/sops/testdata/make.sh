#!/bin/sh
# Makes the encrypted files of this folder with sops, from what is written here:
#
#	go install github.com/getsops/sops/v3/cmd/sops@v3.13.3
#	./make.sh
#
# identity.txt decrypts them; it guards nothing. other.txt decrypts none.
set -eu
cd "$(dirname "$0")"
recipient=$(sed -n 's/^# public key: //p' identity.txt)
encrypt() { # NAME RULE [FLAG…] < plain
	name=$1 rule=$2
	shift 2
	cat > "plain-$name"
	echo "creation_rules: [{$rule age: '$recipient'}]" > config
	sops --config config encrypt "$@" "plain-$name" > "$name"
	rm "plain-$name" config
}

# As people encrypt Secrets.
encrypt secret.yaml "encrypted_regex: '^(data|stringData)$'," <<'EOF'
# a comment
apiVersion: v1
kind: Secret
metadata:
  name: login
  namespace: prod
  labels: {count: "3"}
type: Opaque
data:
  password: aHVudGVyMg== # hunter2
stringData:
  # another comment
  clouds.yaml: |
    clouds:
      openstack: {auth: {password: "correct horse"}}
  empty: ""
  odd: "  yes\tno: 'x' \"y\" ü\r\n\n"
EOF

# Two documents, all of them encrypted, values of every type.
encrypt all.yaml '' <<'EOF'
apiVersion: v1
kind: Secret
metadata: {name: one}
stringData: {a: one}
list: [1, 2.50, true, false, null, "text", {deep: [x, ""]}, 2020-01-02T03:04:05Z]
name_unencrypted: {plain: 7, other: [1.0, true, 2020-01-02, 1e3]}
---
apiVersion: v1
kind: Secret
metadata: {name: two}
stringData: {a: two}
EOF

encrypt suffix.yaml 'encrypted_suffix: _secret,' <<'EOF'
user: admin
pass_secret: hunter2
port: 5432
EOF

encrypt plainregex.yaml "unencrypted_regex: '^(apiVersion|kind|metadata)$'," <<'EOF'
apiVersion: v1
kind: Secret
metadata: {name: one}
stringData: {a: one}
EOF

encrypt maconly.yaml "encrypted_regex: '^stringData$', mac_only_encrypted: true," <<'EOF'
apiVersion: v1
kind: Secret
metadata: {name: one}
stringData: {a: one}
EOF

encrypt configmap.yaml "encrypted_regex: '^data$'," <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: one}
EOF

encrypt comments.yaml "encrypted_comment_regex: '^ secret'," <<'EOF'
apiVersion: v1
# secret
kind: Secret
EOF

encrypt app.json '' <<'EOF'
{"clouds": {"openstack": {"password": "hunter2", "port": 5000, "ratio": 0.5, "verify": false, "none": null}}, "list": ["a", 1]}
EOF

encrypt app.env '' <<'EOF'
# a comment
USER=admin
PASSWORD=hunter2=x
LINES=one\ntwo
EMPTY=
EOF

encrypt token.bin '' --input-type binary --output-type json <<'EOF'
not YAML: [ at all
	hunter2
EOF

# Several recipients, of which one is ours.
other=$(sed -n 's/^# public key: //p' other.txt)
recipient=$(sed -n 's/^# public key: //p' other.txt),$recipient
encrypt two.yaml '' <<'EOF'
user: admin
EOF
