import ConiferEncryption
import ConiferKeyValue
import ConiferTree

/// The file that holds the key of an encrypted store: 32 bytes, or 64 hexadecimal digits.
///
/// A key is never in a URL or on the command line, where other users and logs would see it.
enum KeyFile {
  static let variable = "CONIFER_KEY_FILE"

  /// The file that the command line or the environment names, or nil; an empty name is none.
  static func path(_ named: String?, _ console: Console) -> String? {
    (named ?? console.environment(variable)).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Refuses a file that can be read only once, for commands that read it in several processes.
  ///
  /// - Throws: `bad-key`.
  static func requireRereadable(_ path: String?) throws(Failure) {
    guard let path, !path.isEmpty, Platform.exists(path), !Platform.isRegularFile(path) else {
      return
    }
    throw Failure(
      "bad-key", .badData,
      "\(path) is no regular file, and this command reads the key in several processes: put the key into a file that "
        + "only you may read.")
  }

  /// The encryption with the key in a file, or nil when there is none.
  ///
  /// - Throws: `Failure` when there is no such file, when it holds no key, and in a build without
  ///   encryption.
  static func encryption(
    in path: String?, _ console: Console
  ) throws(Failure) -> (any StoreLayer)? {
    guard let path, !path.isEmpty else { return nil }
    #if Encryption
      return StoreEncryption(key: try key(path, console))
    #else
      throw Failure(
        "unsupported", .usage,
        "This conifer was built without encryption: build it with swift build --product conifer "
          + "--traits Zstd,Network,Encryption.")
    #endif
  }

  #if Encryption
    /// The key in a file.
    static func key(_ path: String, _ console: Console) throws(Failure) -> [UInt8] {
      let descriptor = try Platform.openForReading(path)
      defer { Platform.closeFile(descriptor) }
      if Platform.isShared(descriptor) {
        console.noteOnce("conifer: others may read \(path). Make it private with chmod 600.")
      }
      var bytes: [UInt8] = []
      // Reading a few more bytes than any key has shows that the file is not a key.
      while bytes.count <= 128, try Platform.read(descriptor, atMost: 256, into: &bytes) {}
      if bytes.count == 32 { return bytes }
      while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
      let digits = bytes.compactMap(\.hexDigit)
      guard bytes.count == 64, digits.count == 64 else {
        throw Failure(
          "bad-key", .badData,
          "\(path) does not hold a key: a key is 32 random bytes, as head -c 32 /dev/urandom gives, or 64 "
            + "hexadecimal digits.")
      }
      return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
  #endif
}
