import Testing

@testable import ConiferTool

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("An encrypted store takes its key from a file")
struct KeyFileTests {
  private static let bytes = (0..<32).map { UInt8($0 * 7) }

  private static func keyFile(_ sandbox: Sandbox, _ name: String, _ bytes: [UInt8]) throws -> String
  {
    let path = try sandbox.file(name, bytes)
    chmod(path, 0o600)
    return path
  }

  #if Encryption
    @Test("Raw bytes and digits are the same key", arguments: persistentBackends)
    func forms(_ backend: String) async throws {
      let sandbox = try Sandbox()
      let raw = try Self.keyFile(sandbox, "raw", Self.bytes)
      let digits = Self.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      let text = try Self.keyFile(sandbox, "text", Array((digits.uppercased() + "\n").utf8))
      let url = sandbox.url(backend)
      #expect(
        await sandbox.run("set", "/a", "5", "--store", url, "--key-file", raw).status == .success)
      let read = await sandbox.run("get", "/a", "--store", url, "--key-file", text)
      #expect(read.line == "5" && read.notes == "")
    }

    @Test("Without the key, with another, and with one for a plain store a command is denied")
    func denied() async throws {
      let sandbox = try Sandbox()
      let key = try Self.keyFile(sandbox, "key", Self.bytes)
      let other = try Self.keyFile(sandbox, "other", Self.bytes.reversed())
      let (sealed, plain) = (sandbox.url("log", "sealed"), sandbox.url("log", "plain"))
      _ = await sandbox.run("set", "/a", "5", "--store", sealed, "--key-file", key)
      _ = await sandbox.run("set", "/a", "5", "--store", plain)
      for arguments in [
        ["--store", sealed], ["--store", sealed, "--key-file", other],
        ["--store", plain, "--key-file", key],
      ] {
        let output = await sandbox.run(["get", "/a"] + arguments, store: nil)
        #expect(output.status == .denied && output.notes.contains("wrong-key"), "\(output.notes)")
      }
      #expect(await sandbox.run("get", "/a", "--store", sealed, "--key-file", key).line == "5")
      #expect(await sandbox.run("get", "/a", "--store", plain).line == "5")
    }

    @Test("What is no key is refused, and a key that others may read is told")
    func badFiles() async throws {
      let sandbox = try Sandbox()
      for (name, bytes) in [
        ("short", Array(Self.bytes.dropLast())), ("long", Self.bytes + Self.bytes + Self.bytes),
        ("empty", []), ("words", Array(String(repeating: "xy", count: 32).utf8)),
        ("large", [UInt8](repeating: 48, count: 100_000)),
      ] {
        let path = try Self.keyFile(sandbox, name, bytes)
        let output = await sandbox.run(
          "set", "/a", "5", "--store", "memory://", "--key-file", path)
        #expect(output.status == .badData && output.notes.contains("bad-key"), "\(name)")
      }
      let missing = await sandbox.run(
        "set", "/a", "5", "--store", "memory://", "--key-file", sandbox.path("none"))
      #expect(missing.status == .missing)
      let shared = try sandbox.file("shared", Self.bytes)
      chmod(shared, 0o640)
      let output = await sandbox.run(
        "set", "/a", "5", "--store", "memory://", "--key-file", shared)
      #expect(output.status == .success && output.notes.contains("chmod 600"))
    }
  #else
    @Test("A build without encryption says how to get it")
    func absent() async throws {
      let sandbox = try Sandbox()
      let key = try Self.keyFile(sandbox, "key", Self.bytes)
      let output = await sandbox.run(
        "set", "/a", "5", "--store", "memory://", "--key-file", key)
      #expect(output.status == .usage && output.notes.contains("--traits Zstd,Network,Encryption"))
    }
  #endif
}
