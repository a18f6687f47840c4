#if Encryption
  import ConiferKeyValue
  import Crypto

  /// An app's key, with the keys that one store derives from it.
  struct MasterKey: Sendable {
    private let key: SymmetricKey
    private let store: Bytes

    /// - Parameters:
    ///   - bytes: 32 of them.
    ///   - store: the store's id, so that one key of the app is another in each of its stores.
    /// - Throws: `invalid` for a key of another length.
    init(_ bytes: Bytes, store: Bytes) throws(StoreError) {
      guard bytes.count == 32 else {
        throw StoreError(
          .invalid, "An encryption key has 32 bytes, not \(bytes.count): make them at random.")
      }
      key = SymmetricKey(data: bytes)
      self.store = store
    }

    /// A tag by which a key can be checked.
    func check(_ bytes: Bytes) -> Bytes {
      derived("conifer check").withUnsafeBytes { key in
        Bytes(
          HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)).prefix(16))
      }
    }

    /// Wraps a key: twelve bytes of nonce, the key, sixteen bytes of tag.
    func wrap(_ bytes: Bytes, for context: Bytes) throws(StoreError) -> Bytes {
      do {
        let box = try AES.GCM.seal(
          bytes, using: derived("conifer wrap"), authenticating: store + context)
        return Bytes(box.nonce) + Bytes(box.ciphertext) + Bytes(box.tag)
      } catch {
        throw StoreError(.io, "A key cannot be wrapped: try again.", cause: "\(error)")
      }
    }

    /// The wrapped key, or nil when it was wrapped with another key or for another context.
    func unwrap(_ bytes: Bytes, for context: Bytes) -> Bytes? {
      guard bytes.count >= 28, let nonce = try? AES.GCM.Nonce(data: bytes.prefix(12)),
        let box = try? AES.GCM.SealedBox(
          nonce: nonce, ciphertext: bytes[12..<(bytes.count - 16)], tag: bytes.suffix(16)),
        let key = try? AES.GCM.open(
          box, using: derived("conifer wrap"), authenticating: store + context)
      else { return nil }
      return Bytes(key)
    }

    private func derived(_ purpose: String) -> SymmetricKey {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: key, salt: store, info: Bytes(purpose.utf8), outputByteCount: 32)
    }

    /// Random bytes for keys, salts and ids.
    static func random(_ count: Int) -> Bytes {
      SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Bytes($0) }
    }
  }
#endif
