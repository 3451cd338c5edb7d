use super::*;
use crate::running::Answer;

struct Kernel {
    symbols: Symbols,
    injectable: InjectableList,
    traceable: Traceable,
    features: Features,
}

fn kernel() -> Kernel {
    let symbols = "\
ffffffff81000010 t should_failslab
ffffffff81000020 t returns_null
ffffffff81000030 t __do_sys_mount
ffffffff81000030 T __x64_sys_mount
ffffffff81000040 t vfs_mkdir
ffffffff81000050 t __x64_sys_mkdir
ffffffff81000060 t twice
ffffffff81000070 t twice
ffffffff81000080 t dark
ffffffff81000090 T security_file_open
ffffffff810000a0 T security_file_free
ffffffffc0000010 t m_one\t[m]
";
    let list = "should_failslab\tERRNO\nreturns_null\tNULL\n__do_sys_mount\tERRNO\n\
                __x64_sys_mkdir\tERRNO\ntwice\tERRNO\ndark\tERRNO\nm_one [m]\tERRNO\n";
    Kernel {
        symbols: Symbols::parse(symbols.to_owned()),
        injectable: InjectableList::parse(list).unwrap(),
        traceable: Traceable::parse(
            "should_failslab\nreturns_null\n__do_sys_mount\n__x64_sys_mkdir\ntwice\nm_one [m]\n\
             security_file_open\n",
        ),
        features: Features { kprobe_multi: Answer::Yes, fmod_ret: Answer::Yes },
    }
}

fn request(words: &[&str]) -> Request {
    let words = words.iter().map(|word| Word::parse(word).unwrap()).collect();
    Request { words, ..Request::default() }
}

fn run(kernel: &Kernel, request: &Request) -> Result<Plan, Vec<PlanError>> {
    let btf = |name: &str| {
        let function = |id, returns| vec![BtfFunction { id, returns }];
        match name {
            "should_failslab" => function(7, true),
            "__x64_sys_mount" => function(8, true),
            "returns_null" => function(9, true),
            "security_file_open" => function(10, true),
            "security_file_free" => function(11, false),
            _ => vec![],
        }
    };
    let facts = Facts {
        symbols: &kernel.symbols,
        injectable: &kernel.injectable,
        traceable: &kernel.traceable,
        features: &kernel.features,
        btf_functions: &btf,
    };
    plan(&facts, request)
}

fn error(kernel: &Kernel, request: &Request) -> String {
    let errors = run(kernel, request).unwrap_err();
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.functions.iter().map(|function| function.name.as_str()).collect()
}

#[test]
fn kprobe_multi_is_taken_where_it_works() {
    let plan = run(&kernel(), &request(&["should_failslab"])).unwrap();
    assert_eq!(plan.functions[0].mechanism, Mechanism::KprobeMulti);
    assert_eq!(plan.functions[0].address, 0xffff_ffff_8100_0010);
    assert_eq!(plan.functions[0].rules[0].value.number(), -12);
}

#[test]
fn fmod_ret_steps_in_and_says_why() {
    let mut kernel = kernel();
    kernel.features.kprobe_multi = Answer::No("no fprobe".to_owned());
    let plan = run(&kernel, &request(&["should_failslab"])).unwrap();
    assert_eq!(plan.functions[0].mechanism, Mechanism::FmodRet);
    assert_eq!(plan.functions[0].btf_id, Some(7));
    assert_eq!(plan.functions[0].because, "kprobe-multi: no fprobe");
}

#[test]
fn fmod_ret_cannot_deliver_a_null_pointer() {
    let mut forced = request(&["returns_null"]);
    forced.method = Some(Mechanism::FmodRet);
    assert!(error(&kernel(), &forced).contains("cannot return 0"));
}

#[test]
fn a_function_named_twice_has_two_rules_also_under_another_name() {
    let request = request(&["sys:mount:errno=EIO:when=1", "__do_sys_mount:errno=EPERM:when=3"]);
    let plan = run(&kernel(), &request).unwrap();
    assert_eq!(names(&plan), ["__x64_sys_mount"]);
    let rules: Vec<String> = plan.functions[0].rules.iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["EIO at 100 %, calls 1", "EPERM at 100 %, calls 3"]);
}

#[test]
fn security_hooks_take_fmod_ret_only_and_must_return_something() {
    let plan = run(&kernel(), &request(&["security_file_open"])).unwrap();
    assert_eq!(plan.functions[0].mechanism, Mechanism::FmodRet);
    assert_eq!(plan.functions[0].rules[0].value.to_string(), "EPERM");
    let message = error(&kernel(), &request(&["security_file_free"]));
    assert!(message.contains("returns nothing"), "{message}");
    assert_eq!(names(&run(&kernel(), &request(&["security_*"])).unwrap()), ["security_file_open"]);
}

#[test]
fn a_glob_takes_what_can_be_hooked_and_lists_the_rest() {
    let mut request = request(&["sys:m*", "*a*:errno=EIO"]);
    let plan = run(&kernel(), &request).unwrap();
    assert_eq!(names(&plan), ["__x64_sys_mount", "__x64_sys_mkdir", "should_failslab"]);
    let left: Vec<&str> = plan.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left, ["dark"]);
    request.exclude = vec!["sys:mk*".to_owned(), "dark".to_owned()];
    let plan = run(&kernel(), &request).unwrap();
    assert_eq!(names(&plan), ["__x64_sys_mount", "should_failslab"]);
    assert!(plan.left_out.is_empty());
}

#[test]
fn a_module_before_the_name_means_that_module() {
    assert_eq!(names(&run(&kernel(), &request(&["m:m_one:errno=EIO"])).unwrap()), ["m_one"]);
    assert_eq!(names(&run(&kernel(), &request(&["m:*:errno=EIO"])).unwrap()), ["m_one"]);
    assert!(error(&kernel(), &request(&["n:m_one:errno=EIO"])).contains("m_one"));
}

#[test]
fn a_glob_that_matches_nothing_is_an_error() {
    assert!(error(&kernel(), &request(&["nothing_*"])).contains("matches no injectable"));
    let message = error(&kernel(), &request(&["dar*:errno=EIO"]));
    assert!(message.contains("can be hooked"), "{message}");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let all = error(&kernel(), &request(&["should_failslap", "vfs_mkdir", "twice", "dark"]));
    let lines: Vec<_> = all.lines().collect();
    assert!(lines[0].contains("did you mean should_failslab"), "{all}");
    assert!(lines[1].contains("not injectable"), "{all}");
    assert!(lines[1].contains("sys:mkdir"), "{all}");
    assert!(lines[2].contains("more than once"), "{all}");
    assert!(lines[3].contains("--errno"), "{all}");
}

#[test]
fn a_function_that_nothing_can_hook_is_refused_with_every_reason() {
    let message = error(&kernel(), &request(&["dark:errno=EIO"]));
    assert_eq!(message.matches("ftrace cannot hook").count(), 2, "{message}");
}

#[test]
fn more_rules_than_fit_are_refused() {
    let words = vec!["should_failslab"; 9];
    assert!(error(&kernel(), &request(&words)).contains("more rules than fit"));
    let when: String = (1..=7).map(|number| format!(":when={number}")).collect();
    let message = error(&kernel(), &request(&[&format!("should_failslab{when}")]));
    assert!(message.contains("more --when than fit"), "{message}");
}

#[test]
fn without_a_list_system_calls_go_by_fmod_ret_and_the_rest_is_refused() {
    let mut kernel = kernel();
    kernel.injectable = InjectableList::absent();
    kernel.injectable.extend_by_fmod_ret(["__do_sys_mount", "security_file_open"].map(Into::into));
    let plan = run(&kernel, &request(&["sys:mount:errno=EIO", "security_file_open"])).unwrap();
    assert_eq!(names(&plan), ["__x64_sys_mount", "security_file_open"]);
    assert!(plan.functions.iter().all(|function| function.mechanism == Mechanism::FmodRet));
    let message = error(&kernel, &request(&["should_failslab"]));
    assert!(message.contains("CONFIG_FUNCTION_ERROR_INJECTION"), "{message}");
    let calls = run(&kernel, &request(&["sys:*:errno=EIO"])).unwrap();
    assert_eq!(names(&calls), ["__x64_sys_mount"]);
}
