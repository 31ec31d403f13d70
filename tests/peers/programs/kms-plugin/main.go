// A KMS plugin for tests: Kubernetes' KMS v2 API on a Unix socket, with keys that are made from their names.
//
//	kms-plugin SOCKET STATE
//
// STATE is a file of JSON that is read with every call: {"key": "key-1", "lost": ["key-0"], "healthz": "ok"}. It names the key that
// encrypts, and keys that cannot decrypt any more. Each call is a line on standard output.
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"slices"

	"google.golang.org/grpc"
	kms "k8s.io/kms/apis/v2"
)

const note = "note.kms-plugin.example.com"

type state struct {
	Key     string   `json:"key"`
	Lost    []string `json:"lost"`
	Healthz string   `json:"healthz"`
}

type plugin struct {
	kms.UnimplementedKeyManagementServiceServer
	file string
}

func (p *plugin) state() (state, error) {
	var now state
	data, err := os.ReadFile(p.file)
	if err != nil {
		return now, err
	}
	return now, json.Unmarshal(data, &now)
}

func key(name string) (cipher.AEAD, error) {
	secret := sha256.Sum256([]byte("of the test plugin: " + name))
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (p *plugin) Status(context.Context, *kms.StatusRequest) (*kms.StatusResponse, error) {
	now, err := p.state()
	if err != nil {
		return nil, err
	}
	fmt.Println("status", now.Key)
	return &kms.StatusResponse{Version: "v2", Healthz: now.Healthz, KeyId: now.Key}, nil
}

func (p *plugin) Encrypt(_ context.Context, request *kms.EncryptRequest) (*kms.EncryptResponse, error) {
	now, err := p.state()
	if err != nil {
		return nil, err
	}
	seal, err := key(now.Key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, seal.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	fmt.Println("encrypt", now.Key)
	return &kms.EncryptResponse{
		Ciphertext:  seal.Seal(nonce, nonce, request.Plaintext, nil),
		KeyId:       now.Key,
		Annotations: map[string][]byte{note: []byte("kept")},
	}, nil
}

func (p *plugin) Decrypt(_ context.Context, request *kms.DecryptRequest) (*kms.DecryptResponse, error) {
	now, err := p.state()
	if err != nil {
		return nil, err
	}
	fmt.Println("decrypt", request.KeyId)
	if slices.Contains(now.Lost, request.KeyId) {
		return nil, errors.New("the key is lost")
	}
	if string(request.Annotations[note]) != "kept" {
		return nil, errors.New("the annotation did not come back")
	}
	seal, err := key(request.KeyId)
	if err != nil {
		return nil, err
	}
	if len(request.Ciphertext) < seal.NonceSize() {
		return nil, errors.New("too short")
	}
	nonce, sealed := request.Ciphertext[:seal.NonceSize()], request.Ciphertext[seal.NonceSize():]
	plain, err := seal.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	return &kms.DecryptResponse{Plaintext: plain}, nil
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: kms-plugin SOCKET STATE")
	}
	os.Remove(os.Args[1])
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	kms.RegisterKeyManagementServiceServer(server, &plugin{file: os.Args[2]})
	log.Fatal(server.Serve(listener))
}
