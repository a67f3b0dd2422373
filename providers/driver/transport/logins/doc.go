// Package logins shares clients of a service among all clusters that have the same credential, closes
// unused ones, and keeps accounts from being locked by passwords that are refused.
//
//	pool := logins.New[string, *Client](nil)
//	defer pool.Close()
//	client, err := pool.Client(credential.Digest(), credential.Account(), func(gate *logins.Gate) (*Client, error) {
//		return open(credential, gate)
//	})
package logins
