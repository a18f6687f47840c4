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

/// What the doctor says of directories beside a store: they may hold the only copy of what was saved.
@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct BesideTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func make() async throws -> String {
    let url = sandbox.url("sqlite")
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    return url
  }

  /// What a salvage that was killed leaves.
  private func makeSalvage() throws {
    _ = try Directory.make(sandbox.path("store.salvage"))
    for name in ["workshop", "owner"] { _ = try sandbox.file("store.salvage/\(name)", "") }
  }

  /// The remedies of a store's findings that speak of removing something.
  private func removing(_ report: Node) -> [String] {
    report.findings.filter { $0.remedy.contains("emove it") }.map(\.code)
  }

  @Test("What a killed salvage left may be removed only beside a store that is whole and not open")
  func left() async throws {
    let url = try await make()
    try makeSalvage()
    let whole = try sandbox.doctor([url])
    #expect(whole.cares.isEmpty && removing(whole) == ["salvage-left"], "\(whole)")

    // An app that has the store open may be salvaging it.
    let lock = try OwnerLock(path: sandbox.path("store/owner"))
    let busy = try sandbox.doctor([url])
    #expect(busy.cares == ["busy"] && removing(busy).isEmpty, "\(busy)")
    #expect(busy.remedy("salvage-left") != nil)
    lock.release()

    let bytes = try contents(sandbox.path("store/conifer.sqlite"))
    _ = try sandbox.file("store/conifer.sqlite", Array(bytes.prefix(100)))
    let damaged = try sandbox.doctor([url])
    #expect(damaged.cares.contains("damaged") && removing(damaged).isEmpty, "\(damaged)")
    #expect(damaged.remedy("salvage-left")?.contains("Salvage again") == true)

    Directory.remove(sandbox.path("store"))
    let absent = try sandbox.doctor([url])
    #expect(absent.cares == ["no-store"] && removing(absent).isEmpty, "\(absent)")
    #expect(absent.remedy("salvage-left")?.contains("Salvage again") == true)
  }

  @Test("A salvage that runs is told as one, and its directory is left alone")
  func running() async throws {
    let url = try await make()
    let salvage = try SalvageDirectory(sandbox.path("store.salvage"))
    let report = try sandbox.doctor([url])
    #expect(report.remedy("salvage-running") != nil && removing(report).isEmpty, "\(report)")
    salvage.remove()
    #expect(try sandbox.doctor([url]).findings.isEmpty)
  }

  @Test("A directory that only has the name is not called a salvage's")
  func strange() async throws {
    let url = try await make()
    _ = try Directory.make(sandbox.path("store.salvage"))
    _ = try sandbox.file("store.salvage/letter", "Dear aunt")
    let report = try sandbox.doctor([url])
    #expect(report.remedy("salvage-left") != nil && removing(report).isEmpty, "\(report)")
  }

  @Test(
    "Of a store that was cut short while a new one took its place, what was saved is kept, and the next opening has it",
    arguments: ["aside", "place"])
  func exchanged(phase: String) async throws {
    let url = try await make()
    try makeSalvage()
    // The new store is still in the directory of the salvage.
    #expect(
      await sandbox.run("set", "/a", "2", store: sandbox.url("sqlite", "store.salvage/store"))
        .status == .success)
    _ = try Directory.make(sandbox.path("store.damaged"))
    if phase == "place" {
      for name in try Directory.names(in: sandbox.path("store")) where name != "owner" {
        try Directory.move(sandbox.path("store/\(name)"), to: sandbox.path("store.damaged/\(name)"))
      }
    }
    try UnfinishedStore.mark(sandbox.path("store"), ["it goes on", phase, "store.damaged"])
    let report = try sandbox.doctor([url])
    #expect(report.cares == ["unfinished"] && removing(report).isEmpty, "\(report)")
    #expect(report.remedy("salvage-left")?.contains("Leave it alone") == true)
    #expect(report.remedy("set-aside-store")?.contains("Keep it") ?? (phase == "aside"))
    // What is advised: opening it.
    let opened = await sandbox.run("get", "/a", store: url)
    #expect(opened.line == "2", "\(opened)")
    let after = try sandbox.doctor([url])
    #expect(after.findings.map(\.code) == ["set-aside-store"], "\(after)")
    let remedy = try #require(after.remedy("set-aside-store"))
    #expect(remedy.contains("keep the empty directory"), "\(remedy)")
    // And that: then nothing is left to say, and the name is still taken.
    #expect(try sandbox.shell("rm store.damaged/*").status == 0)
    #expect(try sandbox.doctor([url]).findings.isEmpty)
  }

  @Test("Each directory of a series is told")
  func series() async throws {
    let url = try await make()
    for name in ["store.migrated", "store.migrated-2", "store.damaged-3", "store.migrated-x"] {
      _ = try Directory.make(sandbox.path(name))
      _ = try sandbox.file("\(name)/file", "")
    }
    let report = try sandbox.doctor([url])
    #expect(
      report.findings.map(\.code) == ["set-aside-store", "migrated", "migrated"], "\(report)")
  }
}
