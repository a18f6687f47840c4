import ArgumentParser
import ConiferEncryption
import ConiferKeyValue
import ConiferStorage

/// Gives an encrypted store another key.
struct RotateCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Give an encrypted store another key, and encrypt all records anew.",
    discussion: """
      The old key opens nothing any more as soon as the key is changed, in one commit; then all \
      records are encrypted anew. A rotation that was killed goes on where it was when it is run \
      again, with the same two files. Old copies of the files can still be read with the old key.
      """)

  @Option(help: "The file with the new key.", completion: .file())
  var newKeyFile: String
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    guard let path = KeyFile.path(store.keyFile, console), !path.isEmpty else {
      throw Failure.usage("Which key it is now is not named: give --key-file FILE.")
    }
    #if Encryption
      let (old, new) = (try KeyFile.key(path, console), try KeyFile.key(newKeyFile, console))
      guard old != new else { throw Failure.usage("Both files hold the same key.") }
      let address = try StoreAddress(store.url(console), keyFile: nil, console)
      try address.mustBePresent()
      let isNew = try await rotate(address, old, new, console)
      let isDone = try await Self.opened(address, new, console) { try await Self.reseal($0) }
      try tell(isNew: isNew, isDone: isDone, console)
    #else
      _ = try KeyFile.encryption(in: path, console)
    #endif
  }

  #if Encryption
    /// Changes the key; false when it was changed before.
    private func rotate(
      _ address: StoreAddress, _ old: [UInt8], _ new: [UInt8], _ console: Console
    ) async throws -> Bool {
      do {
        try await Self.opened(address, old, console) { backend in
          try await backend.withStore { (store) throws(StoreError) in try store.rotate(to: new) }
        }
        return true
      } catch let error as StoreError where error.code == .wrongKey {
        // An earlier run may have come so far: then the new one fits.
        try await Self.opened(address, new, console) { _ in }
        return false
      }
    }

    /// Encrypts all readable records again; false when some are left.
    private static func reseal(_ backend: PackedBackend<EncryptedStore>) async throws -> Bool {
      while try await backend.withStore({ (store) throws(StoreError) in
        try store.tidy(.milliseconds(100))
      }) {}
      return !backend.store.isResealing
    }

    static func opened<R>(
      _ address: StoreAddress, _ key: [UInt8], _ console: Console,
      _ body: (PackedBackend<EncryptedStore>) async throws -> R
    ) async throws -> R {
      let configuration = try address.configuration(
        role: .authority, encryption: StoreEncryption(key: key))
      return try await StoreOptions.opened(configuration, telling: console) { backend in
        guard let encrypted = backend as? PackedBackend<EncryptedStore> else {
          throw Failure(
            "unsupported", .usage, "The backend \(configuration.name) has no keys of its own.")
        }
        return try await body(encrypted)
      }
    }

    private func tell(isNew: Bool, isDone: Bool, _ console: Console) throws {
      guard !store.json else {
        return try console.print(
          Report.object([("rotated", .bool(isNew)), ("resealed", .bool(isDone))]).compact)
      }
      try console.print(
        isNew ? "rotated: the old key opens nothing any more" : "was rotated before")
      try console.print(
        isDone
          ? "every record is encrypted with new keys"
          : "records of a tree or queue with a key of its own are left as they were: open the store "
            + "with that key and tidy it (conifer verify names them)")
    }
  #endif
}
