import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

/// What the doctor advises, done as it is printed.
@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct RemedyTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// The commands that stand in a remedy, each with its store at its end.
  private func commands(_ remedy: String) -> [String] {
    remedy.split(separator: "conifer ", omittingEmptySubsequences: false).dropFirst().compactMap {
      part in
      // Prose that only names a command has no store.
      guard let store = part.firstRange(of: "://")?.upperBound,
        let end = part[store...].firstIndex(of: "'")
      else { return nil }
      let rest = part[part.index(after: end)...]
      let more = [
        " NEW-URL --from-key-file FILE --to-key-file NEW-FILE", " NEW-URL", " --key-file FILE",
        " > FILE", " --tree TREE",
      ].first(where: rest.hasPrefix)
      return "conifer " + part[...end] + (more ?? "")
    }
  }

  /// An examination of a store that has everything to take care of.
  private func examination(_ url: String) throws -> Examination {
    let console = Console(
      write: { (_: [UInt8]) throws in }, note: { (_: String) in },
      environment: { (_: String) in nil })
    var examination = Examination(of: try StoreAddress(url, keyFile: nil, console))
    examination.owner = .nobody
    examination.files = [("conifer.sqlite", 90_000_000)]
    examination.inside = try Node(
      json: #"""
        {"format":1,"cache":5000000,"dictionaries":0,"size":{"live":9000000,"free":0,"file":90000000},
         "trees":[{"name":"it's; touch tree;","incomplete":1,"indexes":[{"name":"i","ready":false}],
                   "lanes":[{"identity":"-o'brien $(touch lane)","waiting":1,"rejected":1}]}],
         "incidents":[{"kind":"writeSetAside","place":"write 9","bytes":12},
                      {"kind":"cacheRangeDropped","place":"/","bytes":0}],
         "tidying":{"done":true,"dictionaries":2,"size":{"live":5000000,"free":0,"file":5000000}}}
        """#)
    return examination
  }

  @Test(
    "Each command in a remedy can be pasted into a shell, whatever the names of the store, the tree and the user are"
  )
  func pasted() async throws {
    let name = "a b';touch pwned;'$(touch pwned2)`touch pwned3`%26"
    let url = StoreAddress.escaped(sandbox.path(name))
    let configuration = try Tool.registry.configuration(
      "sqlite://\(url)", defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: "it's; touch tree;")
      let lane = Lane(tree: tree, identity: "-o'brien $(touch lane)")
      _ = try await backend.commit([
        .overwrite(tree, "/a", 1), .enqueue(lane, .set("/b", 2, time: 1)),
        .enqueue(lane, .set("/c", 3, time: 1)),
        .report(Incident(kind: .writeSetAside, tree: tree, place: "write 9", bytes: [7])),
      ])
      for number in 1...2 {
        let id = WriteID(rawValue: UInt64(number))
        _ = try await backend.commit([.setState(lane, id, .sent)])
        _ = try await backend.commit([.setState(lane, id, .rejected(reason: "not you"))])
      }
    }
    #expect(Platform.exists(sandbox.path(name)))
    let listed = try sandbox.shell("conifer incidents --json --store 'sqlite://\(url)'")
    let incident = try #require(try Node(json: listed.text)[Path("0/id")].text)

    var examination = try examination("sqlite://\(url)?budget=2MB")
    var remedies = Diagnosis(examination, HiddenValues(hides: false), now: 0).findings
      .compactMap { finding in finding.remedy.map { (finding.code, $0) } }
    // Others speak of stores that are not sound, or cannot be opened.
    examination.verification = StoreVerification(
      report: try Node(json: #"{"sound":false,"found":1}"#))
    remedies += Diagnosis(examination, HiddenValues(hides: false), now: 0).findings
      .filter { $0.code == "damaged" }.compactMap { finding in
        finding.remedy.map { (finding.code, $0) }
      }
    for code in ["wrong-key", "not-checked", "invalid"] {
      examination.refusal = Failure(code, .io, "")
      remedies += Diagnosis(examination, HiddenValues(hides: false), now: 0).cares
        .filter { $0.code == code }.map { ($0.code, $0.remedy ?? "") }
    }
    var seen: Set<String> = []
    var write = 0
    for (code, remedy) in remedies {
      for command in commands(remedy) {
        var line = command
        if code == "writes-set-aside" {
          line = line.replacing("incidents ID ", with: "incidents \(incident) ")
        } else if line.contains(" ID ") {
          write += 1
          line = line.replacing(" ID ", with: " \(write) ")
        }
        line = line.replacing("> FILE", with: "> bytes")
          .replacing("NEW-URL", with: "'\(sandbox.url("log", "new"))'")
          .replacing("--tree TREE", with: #"--tree 'it'\''s; touch tree;'"#)
        // No key is at hand for what is not encrypted.
        line = line.replacing(" --key-file FILE", with: "")
        let (status, text) = try sandbox.shell(line)
        // Salvaging and checking find the report of damage.
        #expect([0, 2, 76].contains(status), "\(code): \(line): \(status) \(text)")
        #expect(!text.contains("no write waits"), "\(line)")
        if line.contains("queue list") { #expect(text.contains("not you"), "\(text)") }
        seen.insert(line.split(separator: " ").dropFirst().prefix(2).joined(separator: " "))
      }
    }
    #expect(try contents(sandbox.path("bytes")) == [7])
    for command in [
      "queue list", "queue retry", "queue discard", "queries --incomplete", "tidy --store",
      "evict --store", "pins --store", "incidents --store", "incidents --acknowledge",
      "verify --copy", "incidents \(incident)",
    ] {
      #expect(seen.contains(command), "\(command): \(seen)")
    }
    #expect(seen.contains { $0.hasPrefix("salvage ") } && seen.contains { $0.hasPrefix("doctor ") })
    for name in try Directory.names(in: sandbox.directory) {
      #expect(!name.hasPrefix("pwned") && name != "tree" && name != "lane", "\(name)")
    }
  }

  @Test(
    "Housekeeping drops nothing of a damaged store unless its URL calls it a cache",
    arguments: knownBackends, ["tidy", "compact"])
  func tidy(backend: String, command: String) async throws {
    let url = sandbox.url(backend) + "?compression=none"
    let configuration = try Tool.registry.configuration(url, defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: "main")
      for number in 0..<40 {
        let list = (0..<100).map { leaf in
          (Key("k\(leaf)"), Node(.string("the neighbour \(leaf) of \(number) and what it has")))
        }
        _ = try await backend.commit([
          .overwrite(tree, Path("rooms/r\(number)"), Node(children: list))
        ])
      }
    }
    let word = Array("neighbour 7 of 3 ".utf8)
    for (name, bytes) in try sandbox.files("store") {
      var bytes = bytes
      for at in bytes.indices.dropLast(word.count)
      where bytes[at] == word[0] && bytes[at...].starts(with: word) { bytes[at] ^= 0x20 }
      _ = try sandbox.file("store/\(name)", bytes)
    }
    func reports() async -> String {
      await sandbox.run("incidents", store: url + "&role=authority").text
    }
    func found() throws -> Double? {
      let (_, text) = try sandbox.spawn(
        "verify", "--copy", "--json", "--store", url + "&role=authority")
      return try Node(json: text).member("found").leaf?.number
    }
    let before = try found()
    #expect((before ?? 0) > 0)
    // Compression makes housekeeping read what there is.
    let packed = sandbox.url(backend)
    let refused = await sandbox.run(command, store: packed)
    // What it cannot go past ends it.
    #expect([.damaged, .success].contains(refused.status), "\(refused)")
    #expect(
      refused.notes.contains("damaged") && refused.notes.contains("role=cache"), "\(refused)")
    #expect(await !reports().contains("cacheRangeDropped"))
    #expect((try found() ?? 0) > 0)
    let doctor = try sandbox.doctor([packed])
    #expect(!doctor.findings.contains { $0.remedy.contains("conifer tidy") }, "\(doctor)")

    let cache = await sandbox.run(command, store: packed + "?role=cache")
    #expect(cache.status == .success, "\(cache)")
    #expect(await reports().contains("cacheRangeDropped"))
  }

  @Test("Who only lists the reports of damage drops nothing", arguments: knownBackends)
  func listing(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url)
    let output = await sandbox.run("incidents", store: url)
    #expect(output.status == .success && output.text.contains("writeSetAside"), "\(output)")
  }

  @Test("Where an import was killed, importing again says what to add, and the doctor too")
  func importing() async throws {
    struct Killed: Error {}
    let url = sandbox.url("sqlite")
    let file = try sandbox.file("f.json", #"{"x":{"y":"a long enough text"},"z":1}"#)
    try await sandbox.opened("sqlite") { store in
      let importer = Importer(file: try ImportFile(file), target: "/t", merges: false, window: 1)
      let replaced = try importer.check { _ in }
      await #expect(throws: Killed.self) {
        _ = try await importer.load(store, replacing: replaced) { _ in throw Killed() }
      }
    }
    let remedy = try #require(try sandbox.doctor([url]).remedy("incomplete-queries"))
    #expect(remedy.contains("--replace"), "\(remedy)")
    let queries = try #require(commands(remedy).first)
      .replacing("--tree TREE", with: "--tree main")
    let listed = try sandbox.shell(queries)
    #expect(listed.status == 0 && listed.text.contains("/t"), "\(listed)")
    let refused = await sandbox.run("import", file, "--path", "/t", store: url)
    #expect(refused.status == .usage && refused.notes.contains("cut short"), "\(refused)")
    #expect(refused.notes.contains("--replace"), "\(refused)")
    let again = await sandbox.run("import", file, "--path", "/t", "--replace", store: url)
    #expect(again.status == .success, "\(again)")
    #expect(try sandbox.doctor([url]).remedy("incomplete-queries") == nil)
    // Then it is data as any other.
    let whole = await sandbox.run("import", file, "--path", "/t", store: url)
    #expect(whole.status == .usage && !whole.notes.contains("cut short"), "\(whole)")
  }
}
