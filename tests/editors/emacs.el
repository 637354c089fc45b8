;;; emacs.el --- Emacs with the delivered hookwire.el and Eglot  -*- lexical-binding: t -*-

(setq package-directory-list '("/usr/share/emacs/site-lisp/elpa" "/usr/share/emacs/site-lisp/elpa-src")
      package-user-dir (expand-file-name "elpa" (getenv "HOME"))
      inhibit-message t
      create-lockfiles nil
      make-backup-files nil)
(package-initialize)
(require 'bytecomp)
(require 'checkdoc)
(require 'cl-lib)
(require 'lisp-mnt)

(defconst patience 10)
(defconst source (expand-file-name "emacs/hookwire.el" (getenv "EDITOR_FILES")))

(defvar heard "" "Every message so far.")
(advice-add 'message :before
            (lambda (text &rest arguments)
              (when text (setq heard (concat heard (apply #'format-message text arguments) "\n")))))

(defun wait-for (what condition)
  (let ((deadline (+ (float-time) patience)) found)
    (while (not (setq found (funcall condition)))
      (when (> (float-time) deadline) (error "Gave up: %s; heard: %s" what heard))
      (accept-process-output nil 0.005))
    found))

(defun check (what found expected)
  (unless (equal found expected) (error "%s: expected %S, found %S" what expected found)))

(defun heard (part)
  (wait-for part (lambda () (string-match-p (regexp-quote part) heard))))

(defun edit (name)
  (find-file (expand-file-name (concat ".hookwire/" name) (getenv "PROJECT")))
  ;; There are no commands in batch mode, after which `eglot-ensure' would connect.
  (unless (eglot-managed-p) (run-hooks 'post-command-hook))
  (wait-for "attached" (lambda () (and (eglot-managed-p) (eglot-current-server)))))

(defun diagnostics (n)
  "The diagnostics, once there are N: line, column in characters, text."
  (eglot--signal-textDocument/didChange)
  (wait-for (format "%d diagnostics" n)
            (lambda ()
              (flymake-start)
              (= n (length (flymake-diagnostics)))))
  (mapcar (lambda (it)
            (save-excursion
              (goto-char (flymake-diagnostic-beg it))
              (list (line-number-at-pos) (- (point) (line-beginning-position)) (flymake-diagnostic-text it))))
          (sort (flymake-diagnostics) (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b))))))

(defun lenses (line part)
  "What is drawn above LINE once PART is in it."
  (wait-for (format "lens %s" part)
            (lambda ()
              (save-excursion
                (goto-char (point-min))
                (forward-line (1- line))
                (cl-some (lambda (it)
                           (let ((text (substring-no-properties (or (overlay-get it 'before-string) ""))))
                             (and (overlay-get it 'hookwire) (string-match-p (regexp-quote part) text) text)))
                         (overlays-in (point) (1+ (point))))))))

(defun test-the-source-is-clean ()
  (let ((byte-compile-error-on-warn t)
        (byte-compile-dest-file-function (lambda (_) (expand-file-name "hookwire.elc" (getenv "HOME")))))
    (check "compiled" (byte-compile-file source) t))
  (let (complaints)
    (cl-letf (((symbol-function 'checkdoc-error) (lambda (_ text) (push text complaints) nil)))
      (with-current-buffer (find-file-noselect source)
        (checkdoc-current-buffer t)))
    (check "checkdoc" complaints nil)))

(defun test-other-files-are-left-alone ()
  (find-file (expand-file-name "compose.yaml" (getenv "PROJECT")))
  (check "mode" (string-prefix-p "hookwire" (symbol-name major-mode)) nil)
  (check "managed" (eglot-managed-p) nil))

(defun test-every-format-has-its-mode ()
  (dolist (case '(("a.yaml" hookwire-yaml-mode conf-colon-mode)
                  ("a.yml" hookwire-yaml-mode conf-unix-mode)
                  ("a.toml" hookwire-toml-mode conf-toml-mode)
                  ("deep/a.json" hookwire-json-mode js-mode)))
    (with-temp-buffer
      (setq buffer-file-name (expand-file-name (concat ".hookwire/" (car case)) (getenv "PROJECT")))
      ;; What a person chose later holds, below ours.
      (let ((auto-mode-alist (cons '("\\.yml\\'" . conf-unix-mode) auto-mode-alist)))
        (cl-letf (((symbol-function 'eglot-ensure) #'ignore)) (set-auto-mode)))
      (check (car case) (list major-mode (and (derived-mode-p (nth 2 case)) (nth 2 case))) (cdr case))
      (check "root" (file-equal-p (project-root (eglot--current-project)) (getenv "PROJECT")) t)
      (set-buffer-modified-p nil)
      (setq buffer-file-name nil))))

(defun test-a-mistake-is-shown-as-it-is-typed ()
  (edit "new.yaml")
  (insert "hooks:\n  - {name: é😀, on: PreTolUse, deny: no}\n  - name: b\n    on: [Stop, Stopp]\n    deny: no\n")
  (let ((found (diagnostics 2)))
    (check "first" (seq-take (nth 0 found) 2) '(2 19))
    (check "text" (and (string-match-p "unknown event “PreTolUse”" (nth 2 (nth 0 found))) t) t)
    (check "second" (seq-take (nth 1 found) 2) '(4 15)))
  (goto-char (point-min))
  (search-forward "PreTo")
  (insert "o")
  (search-forward "Stopp")
  (delete-char -1)
  (diagnostics 0)
  (set-buffer-modified-p nil))

(defun test-completion-inserts-an-event ()
  (edit "completed.yaml")
  (insert "hooks:\n  - name: é😀\n    on: PreToolU")
  (completion-at-point)
  (check "line" (buffer-substring (line-beginning-position) (point)) "    on: PreToolUse")
  (set-buffer-modified-p nil))

(defun test-hover-tells-what-a-field-means ()
  (edit "guard.yaml")
  (goto-char (point-min))
  (search-forward "    on")
  (backward-char)
  (let (told)
    (run-hook-with-args-until-success 'eldoc-documentation-functions
                                      (lambda (text &rest _) (when text (setq told (concat told text)))))
    (wait-for "documentation of `on'" (lambda () (and told (string-match-p "event" told))))))

(defun test-the-hook-runs-as-it-is-typed ()
  (edit "guard.yaml")
  (lenses 2 "▶ run on last PreToolUse")
  (lenses 2 "denied 1")
  (goto-char (point-min))
  (search-forward "deny: never")
  (insert ", 😀")
  (hookwire-run)
  (heard "never, 😀")
  (lenses 2 "deny: never, 😀")
  (check "lines" (count-lines (point-min) (point-max)) 11)
  (hookwire-explain)
  (heard "never-force runs on the last PreToolUse")
  (hookwire-matches)
  (heard "git push")
  (hookwire-reload)
  (heard "1 running host loaded its definitions")
  (hookwire-lens-mode -1)
  (check "lenses" (cl-remove-if-not (lambda (it) (overlay-get it 'hookwire)) (overlays-in (point-min) (point-max))) nil)
  (hookwire-lens-mode 1)
  (set-buffer-modified-p nil))

(defun test-what-is-shown-can-be-trusted ()
  (call-process "hookwire" nil nil nil "trust" "revoke" (getenv "PROJECT"))
  (edit "guard.yaml")
  (lenses 1 "Not in force: not trusted. Review and trust")
  (let (shown)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (&rest _)
                 (let ((page (seq-find (lambda (it) (string-match-p "/trust-.*diff" (or (buffer-file-name it) "")))
                                       (buffer-list))))
                   (setq shown (with-current-buffer page (buffer-string))))
                 "Trust these definitions")))
      (hookwire-trust)
      (heard "These definitions are in force from now on"))
    (check "shown" (and (string-match-p "guard.yaml (new)" shown) t) t))
  (check "trusted" (call-process "hookwire" nil nil nil "trust" "show" (getenv "PROJECT")) 0))

(defun test-events-are-listed-as-they-come ()
  (edit "guard.yaml")
  (hookwire-events)
  (check "buffer" (buffer-name) "*hookwire events*")
  (wait-for "an event" (lambda () (= 1 (length tabulated-list-entries))))
  (goto-char (point-min))
  (check "row" (seq-subseq (cl-map 'vector #'substring-no-properties (tabulated-list-get-entry)) 1 5)
         ["PreToolUse" "deny" "never-force" "Bash echo 😀; git push --force"])
  (with-temp-buffer
    (insert-file-contents (getenv "EVENT"))
    (write-region nil nil (getenv "AGENT") t 'quiet))
  (wait-for "the next" (lambda () (= 2 (length tabulated-list-entries))))
  (hookwire-events-visit)
  (check "visited" (list (file-name-nondirectory buffer-file-name) (line-number-at-pos)) '("guard.yaml" 2))
  (lenses 2 "denied 2"))

(let (failed)
  (dolist (test '(test-the-source-is-clean
                  test-other-files-are-left-alone
                  test-every-format-has-its-mode
                  test-a-mistake-is-shown-as-it-is-typed
                  test-completion-inserts-an-event
                  test-hover-tells-what-a-field-means
                  test-the-hook-runs-as-it-is-typed
                  test-what-is-shown-can-be-trusted
                  test-events-are-listed-as-they-come))
    (when (string-match-p (or (getenv "ONLY") "") (symbol-name test))
      (condition-case problem
          (progn
            (unless (or (featurep 'hookwire) (eq test 'test-the-source-is-clean))
              (load source nil t)
              (add-hook 'hookwire-mode-hook #'eglot-ensure))
            (setq heard "")
            (funcall test))
        (error (push test failed)
               (princ (format "%s: %s\n" test (error-message-string problem)) #'external-debugging-output)))))
  (when failed (kill-emacs 1))
  (princ (format "ok emacs %s, eglot %s\n" emacs-version
                 (lm-version (locate-library "eglot.el")))))
