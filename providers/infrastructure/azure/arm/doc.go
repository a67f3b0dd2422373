// Package arm sends requests to Azure Resource Manager, and says what its answers mean. It has own structs of the few
// fields that are read.
//
// It uses no SDK: with the password of a service principal a token is one request, and ARM is the same four methods
// for all kinds of resources. A request is sent once: a PUT that is repeated meets its own claim. Operations are not
// followed: a resource shows how far it is.
package arm
