import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The copies of stores in the directory for temporary files: what may go wrong with them says nothing of the store, and
/// nothing of them stays.
@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct ScratchTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// The directory for temporary files of the commands, empty at first.
  private func temporary() throws -> String {
    try Platform.makeDirectories(sandbox.path("tmp"))
    return sandbox.path("tmp")
  }

  private func make() async throws -> String {
    let url = sandbox.url("sqlite")
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    return url
  }

  private var left: [String] { (try? Directory.names(in: sandbox.path("tmp"))) ?? ["?"] }

  @Test("Nothing of a copy stays when a command ends, whatever it says")
  func ends() async throws {
    let url = try await make()
    let environment = ["TMPDIR": try temporary()]
    #expect(try sandbox.doctor([url], environment).cares.isEmpty)
    #expect(try sandbox.shell("conifer verify --copy --store '\(url)'", environment).status == 0)
    #expect(left.isEmpty, "\(left)")
    _ = try sandbox.file("store/conifer.sqlite", "nothing of a store")
    #expect(try !sandbox.doctor([url], environment).cares.isEmpty)
    #expect(try sandbox.shell("conifer verify --copy --store '\(url)'", environment).status != 0)
    #expect(left.isEmpty, "\(left)")
  }

  @Test("A directory for temporary files that is not there, or is none, is not blamed on the store")
  func blame() async throws {
    let url = try await make()
    let file = try sandbox.file("file", "")
    for place in [sandbox.path("nowhere"), file] {
      let report = try sandbox.doctor([url], ["TMPDIR": place])
      #expect(report.cares == ["not-checked"], "\(report)")
      #expect(report.remedy("not-checked")?.contains("TMPDIR") == true)
      let verified = try sandbox.shell(
        "conifer verify --copy --store '\(url)'", ["TMPDIR": place])
      #expect(verified.text.contains("not-checked"), "\(verified)")
      #expect(![0, ToolStatus.damaged.rawValue].contains(verified.status))
    }
    // As the remedy says.
    let remedy = try #require(
      try sandbox.doctor([url], ["TMPDIR": file]).remedy("not-checked"))
    let command = "conifer doctor '\(url)'"
    #expect(remedy.contains("TMPDIR=/large/place \(command)"), "\(remedy)")
    #expect(
      try sandbox.shell("TMPDIR='\(try temporary())' \(command)", ["TMPDIR": file]).status == 0)
  }

  @Test(
    "A full or read-only directory for temporary files is not blamed on the store",
    .enabled(
      if: getuid() == 0 && Platform.exists("/usr/bin/setpriv"),
      "Only for the superuser on Linux, with setpriv."))
  func readOnly() async throws {
    let url = try await make()
    let place = try temporary()
    #expect(chmod(place, 0o500) == 0)
    let report = try sandbox.shell(
      "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all conifer doctor '\(url)' --json 2>/dev/null",
      ["TMPDIR": place])
    #expect(try Node(json: report.text).cares == ["not-checked"], "\(report)")
  }

  @Test("What keeps a copy from being used is told apart from what is wrong with the store")
  func codes() {
    for code in ["full", "denied", "io", "poisoned", "no-input", "not-checked"] {
      let failure = Failure(code, .io, "Something.")
      #expect(failure.isOfCopy && Failure.notChecked(failure).code == "not-checked")
      #expect(Failure.notChecked(Failure.notChecked(failure)).message.contains("Something."))
    }
    for code in ["wrong-key", "device-locked", "foreign", "newer-format", "damaged", "unsupported"]
    {
      #expect(!Failure(code, .denied, "Something.").isOfCopy)
    }
  }

  @Test("A copy is made only where there is room for two of it, and for what opening it takes")
  func room() async throws {
    _ = try await make()
    let bytes = try ScratchCopy.files(sandbox.path("store")).reduce(0) { $0 + $1.bytes }
    let needed = 2 * bytes + 64 << 20
    var places: [String] = []
    let failure = #expect(throws: Failure.self) {
      try ScratchCopy(of: sandbox.path("store")) { place in
        places.append(place)
        return needed - 1
      }
    }
    #expect(failure?.code == "not-checked" && failure?.status == .full)
    #expect(failure?.message.contains("TMPDIR") == true)
    #expect(places.count == 1 && !Platform.exists(places.first ?? "/"))
    let copy = try ScratchCopy(of: sandbox.path("store")) { _ in needed }
    #expect(try Directory.names(in: copy.directory) == Directory.names(in: sandbox.path("store")))
    for file in try Directory.names(in: copy.directory) {
      #expect(try contents("\(copy.directory)/\(file)") == contents(sandbox.path("store/\(file)")))
    }
    copy.remove()
    #expect(!Platform.exists(copy.directory))
  }

  @Test("A link in a store is not followed: a copy would not be what the store is")
  func link() async throws {
    let url = try await make()
    #expect(rename(sandbox.path("store/synced"), sandbox.path("elsewhere")) == 0)
    #expect(symlink(sandbox.path("elsewhere"), sandbox.path("store/synced")) == 0)
    let report = try sandbox.doctor([url])
    #expect(report.cares == ["not-checked"], "\(report)")
  }

  @Test("A store that is opened for the first time while it is copied is not called damaged")
  func torn() async throws {
    _ = try await make()
    let store = sandbox.path("store")
    #expect(unlink(store + "/owner") == 0)
    var copies: [ScratchCopy] = []
    let failure = #expect(throws: Failure.self) {
      try Examination.alone(in: store) {
        copies.append(try ScratchCopy(of: store))
        _ = try sandbox.file("store/owner", "")
        return copies[0]
      }
    }
    #expect(failure?.code == "not-checked", "\(String(describing: failure))")
    #expect(copies.count == 1 && !Platform.exists(copies[0].directory))
    // From then on it is locked.
    try Examination.alone(in: store) { try ScratchCopy(of: store) }.remove()
  }

  @Test("While a store is copied, nobody opens it")
  func locked() async throws {
    let url = try await make()
    let store = sandbox.path("store")
    let copy = try StoreOwner.look(in: store) { _ in
      try ScratchCopy(of: store) { _ in
        let failure = #expect(throws: StoreError.self) { try OwnerLock(path: store + "/owner") }
        #expect(failure?.code == .busy)
        return .max
      }
    }
    copy.remove()
    #expect(await sandbox.run("get", "/a", store: url).line == "1")
  }

  @Test(
    "A command that is interrupted takes its copy with it, and ends by the signal",
    arguments: [SIGINT, SIGTERM, SIGHUP])
  func interrupted(signal: Int32) async throws {
    let url = try await make()
    let child = try begin(url)
    kill(child.number, signal)
    kill(child.number, SIGCONT)
    #expect(try child.process.wait() == .killed(signal: signal))
    #expect(left.isEmpty, "\(left)")
  }

  @Test("What a killed command left goes with the next one, and what runs is left alone")
  func swept() async throws {
    let url = try await make()
    let child = try begin(url)
    let environment = ["TMPDIR": sandbox.path("tmp")]
    let first = left
    #expect(first.count == 1)
    // It is only halted.
    #expect(try sandbox.doctor([url], environment).cares.allSatisfy { $0 == "busy" })
    #expect(left == first)
    child.process.kill()
    _ = try child.process.wait()
    #expect(left == first)
    #expect(try sandbox.doctor([url], environment).cares.isEmpty)
    #expect(left.isEmpty, "\(left)")
  }

  @Test("A sweep takes only what commands of this user left, and nothing that is just being made")
  func sweep() throws {
    let root = try temporary()
    for name in ["conifer-copy-new", "conifer-copy-old", "conifer-copy-live", "other-old"] {
      _ = try Directory.make("\(root)/\(name)")
      _ = try sandbox.file("tmp/\(name)/file", "")
    }
    for name in ["conifer-copy-old", "other-old"] { _ = try sandbox.file("tmp/\(name)/owner", "") }
    let lock = try OwnerLock(path: "\(root)/conifer-copy-live/owner")
    #expect(symlink("\(root)/conifer-copy-old", "\(root)/conifer-copy-link") == 0)
    ScratchDirectory.sweep(root)
    #expect(
      left == ["conifer-copy-link", "conifer-copy-live", "conifer-copy-new", "other-old"])
    lock.release()
    ScratchDirectory.sweep(root)
    #expect(left == ["conifer-copy-link", "conifer-copy-new", "other-old"])
  }

  /// Starts a doctor and halts it when it has made its copy's directory.
  private func begin(_ url: String) throws -> (process: ChildProcess, number: Int32) {
    let tool = try #require(Repository.tool)
    let child = try ChildProcess(
      [
        "-c", #"echo $$; exec "$@""#, "sh", "/usr/bin/env", "TMPDIR=\(try temporary())", tool,
        "doctor", url,
      ], of: "/bin/sh")
    let number = try #require(Int32(try child.line() ?? ""))
    while !left.contains(where: { Platform.exists(sandbox.path("tmp/\($0)/store")) }),
      !child.hasEnded
    { usleep(200) }
    kill(number, SIGSTOP)
    #expect(!child.hasEnded)
    // Until it is halted it goes on.
    var status = "R"
    while !status.contains("T"), !child.hasEnded {
      let text = String(decoding: try contents("/proc/\(number)/stat"), as: UTF8.self)
      status = text.split(separator: ")").last.map { String($0.prefix(2)) } ?? ""
    }
    return (child, number)
  }

  @Test(
    "A process that is killed says nothing of what it read",
    arguments: [("KILL", true), ("INT", true), ("TERM", true), ("SEGV", false)])
  func stopped(signal: String, isFromOutside: Bool) throws {
    switch try Worker.run(["-c", "kill -\(signal) $$"], of: "/bin/sh", { _ in }) {
    case .stopped(let how): #expect(isFromOutside && how.hasPrefix("signal "))
    case .died(let how): #expect(!isFromOutside && how.hasPrefix("signal "))
    case let end: Issue.record("\(end)")
    }
  }

  @Test("A process that cannot be started is not blamed on the store")
  func unstarted() throws {
    let failure = #expect(throws: Failure.self) {
      try Failure.asNotChecked {
        try Worker.run([], of: sandbox.path("nothing"), { _ in })
      }
    }
    #expect(failure?.code == "not-checked")
  }

  #if os(Linux)
    @Test("A store whose check is killed is not called damaged, and salvaging is not advised")
    func killedCheck() async throws {
      let url = try await make()
      let tool = try #require(Repository.tool)
      let doctor = try ChildProcess(
        ["-c", #"echo $$; exec "$@""#, "sh", tool, "doctor", url, "--json"], of: "/bin/sh")
      let number = try #require(try doctor.line())
      // It opens nothing in its own process: its only children are those that do.
      var isKilled = false
      while !isKilled, !doctor.hasEnded {
        for thread in (try? Directory.names(in: "/proc/\(number)/task")) ?? [] {
          let path = "/proc/\(number)/task/\(thread)/children"
          let text = String(decoding: (try? contents(path)) ?? [], as: UTF8.self)
          guard let child = text.split(separator: " ").first.flatMap({ Int32($0) }) else {
            continue
          }
          isKilled = kill(child, SIGKILL) == 0
        }
      }
      let report = try Node(json: try doctor.line() ?? "")
      #expect(try doctor.wait() == .exited(ToolStatus.care.rawValue))
      #expect(isKilled && report.cares == ["not-checked"], "\(report)")
      #expect(!report.findings.contains { $0.remedy.contains("salvage") })
    }
  #endif
}
