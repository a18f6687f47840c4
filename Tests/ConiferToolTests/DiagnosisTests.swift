import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

/// What is judged of an examination, whatever store it is of.
@Suite struct DiagnosisTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private static func address(_ url: String, _ keyFile: String? = nil) throws -> StoreAddress {
    let console = Console(
      write: { (_: [UInt8]) throws in }, note: { (_: String) in },
      environment: { (_: String) in nil })
    return try StoreAddress(url, keyFile: keyFile, console)
  }

  private func examination(
    _ inside: String = #"{"format":1}"#, options: String = ""
  ) throws -> Examination {
    let url = sandbox.url("sqlite") + options
    var examination = Examination(of: try Self.address(url))
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
    #expect(first.remedy?.contains("conifer incidents ID") == true)
    #expect(first.remedy?.contains("conifer incidents --acknowledge") == true)
    let known = diagnosis(
      try examination(
        #"""
        {"format":1,
         "incidents":[{"kind":"writeSetAside","place":"write 9","bytes":12,"acknowledged":true}]}
        """#))
    #expect(known.findings.isEmpty)
    #expect(known.lines.contains { $0.contains("writeSetAside 0 (and 1 acknowledged)") })
  }

  @Test("Of writes that were refused each queue is named as the commands take it")
  func rejected() throws {
    let inside = #"""
      {"format":1,"trees":[{"name":"it's","lanes":[{"identity":"","rejected":2},{"identity":"ann","rejected":0}]},
                           {"name":"t","lanes":[{"identity":"-x","rejected":1}]}]}
      """#
    let told = diagnosis(try examination(inside))
    #expect(told.cares.map(\.code) == ["rejected-writes"])
    let remedy = try #require(told.cares.first?.remedy)
    for words in [
      #"conifer queue list --tree='it'\''s' --identity='' --store "#,
      "conifer queue retry ID --tree='t' --identity='-x' --store ",
      "conifer queue discard ID --tree='t' --identity='-x' --store ", "what it wrote is lost",
    ] {
      #expect(remedy.contains(words), "\(words): \(remedy)")
    }
    #expect(!remedy.contains("ann"))
    let hidden = diagnosis(try examination(inside), hides: true).cares.first?.remedy
    #expect(hidden?.contains("--tree=TREE --identity=IDENTITY") == true)
  }

  @Test("Tidying that fails needs care, and it is told whether the store is to blame")
  func tidying() throws {
    func told(_ failure: String) throws -> Diagnosis {
      diagnosis(
        try examination(#"{"format":1,"tidying":{"done":false,"failure":"\#(failure)"}}"#))
    }
    #expect(try told("damaged").cares.map(\.code) == ["tidying-fails"])
    let full = try told("full")
    #expect(full.cares.map(\.code) == ["not-checked"])
    #expect(full.cares.first?.remedy?.contains("TMPDIR") == true)
  }

  @Test(
    "What could not be asked is told, and only an engine that failed makes salvaging the remedy")
  func silence() throws {
    var examination = try examination("{}")
    // No facts: only a finding of a check tells of silence.
    examination.verification = try verification(sound: true)
    examination.silence = .notChecked(Failure("full", .full, "no room."))
    let full = try #require(diagnosis(examination).cares.first)
    #expect(full.code == "not-checked" && full.remedy?.contains("TMPDIR") == true)
    #expect(full.remedy?.contains("salvage") == false)
    examination.silence = Failure("damaged", .damaged, "The engine died (signal 11).")
    #expect(diagnosis(examination).cares.first?.remedy?.contains("conifer salvage") == true)
  }

  private func verification(sound: Bool) throws -> StoreVerification {
    StoreVerification(report: try Node(json: #"{"sound":\#(sound),"found":\#(sound ? 0 : 1)}"#))
  }

  @Test("Nothing that changes a store is advised of one that is not sound")
  func unsound() throws {
    let inside = #"""
      {"format":1,"cache":5000000,"dictionaries":0,"size":{"live":9000000,"free":0,"file":90000000},
       "trees":[{"name":"t","indexes":[{"name":"i","ready":false}]}],
       "tidying":{"done":true,"dictionaries":2,"size":{"live":5000000,"free":0,"file":5000000}}}
      """#
    var examination = try examination(inside, options: "?budget=2MB")
    let codes = ["indexes-building", "dictionaries-due", "untidy", "over-budget"]
    for isSound in [true, false] {
      examination.verification = try verification(sound: isSound)
      let told = diagnosis(examination).findings
      #expect(Set(codes).isSubset(of: told.map(\.code)), "\(told)")
      for finding in told where codes.contains(finding.code) {
        #expect((finding.remedy?.contains("conifer ") == true) == isSound, "\(finding)")
      }
    }
  }

  #if Encryption
    @Test("With an encrypted store's key each command names a file for it")
    func keys() throws {
      var examination = try examination()
      examination.verification = try verification(sound: false)
      #expect(
        diagnosis(examination).cares.first?.remedy?.contains("key-file") == false)
      let file = try sandbox.file("key", [UInt8](repeating: 1, count: 32))
      examination = Examination(of: try Self.address(sandbox.url("sqlite"), file))
      examination.verification = try verification(sound: false)
      let remedy = diagnosis(examination).cares.first?.remedy
      #expect(remedy?.contains("--key-file FILE lists all") == true, "\(remedy ?? "")")
      #expect(
        remedy?.contains("NEW-URL --from-key-file FILE --to-key-file NEW-FILE") == true)
    }
  #endif

  @Test("A name of the data begins no line of the report, and tells a terminal nothing")
  func forged() throws {
    let inside = #"{"format":1,"trees":[{"name":"a\u001b[2J\nhealthy\u0085\u202e"}]}"#
    let told = diagnosis(try examination(inside))
    #expect(told.lines.filter { $0 == "healthy" }.count == 1)
    for line in told.lines {
      for scalar in line.unicodeScalars {
        #expect(scalar.properties.generalCategory != .control, "\(line.debugDescription)")
      }
    }
    #expect(told.lines.contains { $0.contains(#"a\u{1b}[2J\u{a}healthy\u{85}\u{202e}"#) })
  }

  @Test("Every reason for which a store is not opened has words and a remedy of its own")
  func refusals() throws {
    var seen: Set<String> = []
    for code in [
      "no-store", "foreign", "newer-format", "wrong-key", "bad-key", "invalid", "denied",
      "device-locked", "full", "io", "unfinished", "not-checked", "unsupported",
      // Told by their codes.
      "busy", "too-large", "closed", "suspended", "internal", "of-a-later-version",
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
      .damaged("/x/store.damaged-2"), .salvage("/x/store.salvage", .left),
      .migrated("/x/store.migrated"),
    ]
    let told = diagnosis(examination)
    #expect(told.findings.map(\.code) == ["set-aside-store", "salvage-left", "migrated"])
    #expect(told.findings[0].words.contains("/x/store.damaged-2"))
    let hidden = diagnosis(examination, hides: true)
    #expect(hidden.findings[0].words.contains("STORE.damaged-2"))
    #expect(!hidden.lines.joined().contains("/x/"))
  }

  @Test("A hidden name shows its length and when it came, so that no guess can be tried on it")
  func hidden() {
    // What a name is has no part in it.
    for (one, other) in [("ann", "ben"), ("eve", "bob")] {
      let names = HiddenValues(hides: true)
      let shown = [one, other, one].map { names.name($0) }
      #expect(shown == ["<1: 3 bytes>", "<2: 3 bytes>", "<1: 3 bytes>"])
    }
    // Equal as texts, and not the same bytes.
    let names = HiddenValues(hides: true)
    #expect(names.name("\u{212B}") == "<1: 3 bytes>" && names.name("A\u{30A}") == "<2: 3 bytes>")
    #expect(HiddenValues(hides: false).name("ann") == "\"ann\"")
  }
}
