import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

/// What is judged of an examination, whatever store it is of.
@Suite struct DiagnosisTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func examination(
    _ inside: String = #"{"format":1}"#, options: String = ""
  ) throws -> Examination {
    let console = Console(
      write: { (_: [UInt8]) throws in }, note: { (_: String) in },
      environment: { (_: String) in nil })
    let url = sandbox.url("sqlite") + options
    var examination = Examination(of: try StoreAddress(url, keyFile: nil, console))
    examination.owner = .nobody
    examination.files = [("conifer.sqlite", 1 << 30)]
    examination.freeSpace = 1 << 40
    examination.inside = try Node(json: inside)
    return examination
  }

  private func diagnosis(_ examination: Examination, hides: Bool = false) -> Diagnosis {
    Diagnosis(examination, HiddenValues(hides: hides), now: 1_000_000_000)
  }

  @Test("A disk that is nearly full needs care, by what the store takes")
  func disk() throws {
    var examination = try examination()
    #expect(diagnosis(examination).cares.isEmpty)
    examination.freeSpace = 100 << 20
    #expect(diagnosis(examination).cares.map(\.code) == ["disk-nearly-full"])
    examination.files = [("conifer.sqlite", 1 << 20)]
    #expect(diagnosis(examination).cares.isEmpty)
    examination.freeSpace = 10 << 20
    #expect(diagnosis(examination).cares.map(\.code) == ["disk-nearly-full"])
    examination.freeSpace = nil
    #expect(diagnosis(examination).cares.isEmpty)
  }

  @Test("A cache over the budget of its URL needs care")
  func budget() throws {
    let inside = #"{"format":1,"cache":5000000}"#
    #expect(diagnosis(try examination(inside)).cares.isEmpty)
    #expect(diagnosis(try examination(inside, options: "?budget=10MB")).cares.isEmpty)
    let over = diagnosis(try examination(inside, options: "?budget=2MB"))
    #expect(over.cares.map(\.code) == ["over-budget"])
    #expect(over.cares.first?.remedy?.contains("conifer evict") == true)
  }

  @Test("What is due is told without needing care")
  func due() throws {
    let inside = #"""
      {"format":1,"records":9000000,"dictionaries":1,"size":{"live":9000000,"free":0,"file":9000000},
       "trees":[{"name":"chat","order":"utf8","incomplete":2,
                 "indexes":[{"name":"rooms by n","ready":false},{"name":"rooms by m","ready":true}],
                 "lanes":[{"identity":"ann","waiting":3,"rejected":0,"unknown":1,"oldest":100000000},
                          {"identity":"ben","waiting":1,"rejected":0,"unknown":0}]}],
       "tidying":{"done":true,"records":5000000,"dictionaries":2,"size":{"live":5000000,"free":0,"file":5000000}}}
      """#
    let told = diagnosis(try examination(inside))
    #expect(told.cares.isEmpty)
    #expect(
      told.findings.map(\.code) == [
        "waiting-writes", "incomplete-queries", "indexes-building", "dictionaries-due", "untidy",
      ])
    let text = told.lines.joined(separator: "\n")
    #expect(
      text.contains(
        "Waiting to be sent: 4 writes, the oldest for 10 days. Sent and not answered: 1"), "\(text)"
    )
    #expect(text.contains("rooms by n") && !text.contains("rooms by m"))
    #expect(text.hasSuffix("healthy"))
    let report = try Node(json: told.json.compact)
    #expect(report[Path("tidying/givesBack")] == 4_000_000)
    #expect(report[Path("queue/lanes")].childCount == 2)
    let hidden = diagnosis(try examination(inside), hides: true)
    for text in [hidden.lines.joined(separator: "\n"), hidden.json.compact] {
      for name in ["chat", "rooms", "ann", "ben", sandbox.directory] {
        #expect(!text.contains(name), "\(name): \(text)")
      }
    }
  }

  @Test(
    "Writes that were refused, or set aside with their bytes, need care, and it is said how to read them"
  )
  func writes() throws {
    let inside = #"""
      {"format":1,"trees":[{"name":"t","lanes":[{"identity":"","waiting":0,"rejected":2}]}],
       "incidents":[{"kind":"writeSetAside","place":"write 9","bytes":12},
                    {"kind":"writeSetAside","place":"write 10","bytes":0},
                    {"kind":"cacheRangeDropped","place":"/a","bytes":5}]}
      """#
    let told = diagnosis(try examination(inside))
    #expect(told.cares.map(\.code) == ["writes-set-aside", "rejected-writes"])
    #expect(told.findings.last?.code == "data-dropped")
    let first = try #require(told.cares.first)
    #expect(first.words.contains("2 damaged writes") && first.words.contains("1 with the bytes"))
    #expect(first.remedy?.contains("conifer incidents NUMBER") == true)
  }

  @Test("Every reason for which a store is not opened has words and a remedy of its own")
  func refusals() throws {
    var seen: Set<String> = []
    for code in [
      "no-store", "foreign", "newer-format", "wrong-key", "denied", "device-locked", "full", "io",
      "unfinished", "not-checked", "unsupported",
    ] {
      var examination = try examination("{}")
      examination.refusal = Failure(code, .io, "SECRET is in the way.")
      let shown = diagnosis(examination)
      #expect(shown.cares.map(\.code) == [code])
      #expect(shown.lines.joined().contains("SECRET"))
      let hidden = diagnosis(examination, hides: true)
      #expect(!hidden.lines.joined().contains("SECRET") && !hidden.json.compact.contains("SECRET"))
      let words = hidden.cares.map { "\($0.words) \($0.remedy ?? "")" }.joined()
      #expect(seen.insert(words).inserted, "\(code)")
    }
  }

  @Test("What a salvage or a migration left beside the store is told")
  func beside() throws {
    var examination = try examination()
    examination.beside = [
      .damaged("/x/store.damaged-2"), .salvage("/x/store.salvage"), .migrated("/x/store.migrated"),
    ]
    let told = diagnosis(examination)
    #expect(told.findings.map(\.code) == ["set-aside-store", "salvage-left", "migrated"])
    #expect(told.findings[0].words.contains("/x/store.damaged-2"))
    let hidden = diagnosis(examination, hides: true)
    #expect(hidden.findings[0].words.contains("STORE.damaged-2"))
    #expect(!hidden.lines.joined().contains("/x/"))
  }

  @Test("A hidden name shows its length alone, the same in one report and another in the next")
  func hidden() {
    let (one, other) = (HiddenValues(hides: true), HiddenValues(hides: true))
    #expect(one.name("ann") == one.name("ann"))
    #expect(one.name("ann") != one.name("ben"))
    #expect(one.name("ann") != other.name("ann"))
    #expect(one.name("ann").contains("3 bytes") && !one.name("ann").contains("ann"))
    #expect(HiddenValues(hides: false).name("ann") == "\"ann\"")
  }
}
